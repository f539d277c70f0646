"""How much of a reference translation candidate lists allow, by K and K'."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from candidate_files import RankedTranslations
from fairseq_outlayers.formats.dictionary import DictionaryFile

NEVER = np.iinfo(np.int64).max


class Coverage(NamedTuple):
    """What the lists of one choice of K and K' allow."""

    frequent: int  # K
    per_word: int  # K'
    tokens: float  # share of the target tokens, without </s>
    sentences: float  # share of the sentences with every token in their list
    mean_size: float  # of the lists, with </s> and <unk>


class CoverageReport:
    """Counts target tokens by how frequent a word must be listed to allow them.

    Args:
        translations: of the source words.
        source, target: the dictionaries.
        choices: pairs of K, which counts ``</s>`` and ``<unk>``, and K'.
    """

    def __init__(
        self,
        translations: RankedTranslations,
        source: DictionaryFile,
        target: DictionaryFile,
        choices: Sequence[tuple[int, int]],
    ):
        self.translations = translations
        self.indices = source.ids(), target.ids()
        self.choices = choices
        frequent = target.by_frequency()
        frequent = frequent[~np.isin(frequent, translations.blocked)]
        self.frequency_rank = np.full(len(target.symbols), NEVER)
        self.frequency_rank[frequent] = np.arange(len(frequent))
        self.num_frequent = len(frequent)
        self.num_sentences = self.num_tokens = self.num_unknown = 0
        self.covered = np.zeros(len(choices))
        self.covered_sentences = np.zeros(len(choices))
        self.sizes = np.zeros(len(choices))

    def add(self, source: str, target: str) -> None:
        """Count a sentence pair."""
        listed, ranks = self._translation_ranks(source)
        words = np.array([self.indices[1].get(word, -1) for word in target.split()], dtype=np.int64)
        known = words[words >= 0]
        by_translation = np.full(len(known), NEVER)
        if len(listed):
            place = np.searchsorted(listed, known).clip(max=len(listed) - 1)
            by_translation = np.where(listed[place] == known, ranks[place], NEVER)
        self.num_sentences += 1
        self.num_tokens += len(words)
        self.num_unknown += len(words) - len(known)
        for number, (frequent, per_word) in enumerate(self.choices):
            limit = frequent - 2  # </s> and <unk> count
            covered = (self.frequency_rank[known] < limit) | (by_translation < per_word)
            self.covered[number] += covered.sum()
            self.covered_sentences[number] += covered.sum() == len(words)
            added = (self.frequency_rank[listed] >= limit) & (ranks < per_word)
            self.sizes[number] += min(limit, self.num_frequent) + 2 + added.sum()

    def _translation_ranks(self, source: str) -> tuple[np.ndarray, np.ndarray]:
        """RankedTranslations of a sentence's words, ascending, and the best rank that each has."""
        ids = {self.indices[0][word] for word in source.split() if word in self.indices[0]}
        rows = [self.translations.row(number) for number in sorted(ids)]
        targets = np.concatenate([*rows, np.empty(0, dtype=np.int64)]).astype(np.int64)
        ranks = np.concatenate([*(np.arange(len(row)) for row in rows), np.empty(0)]).astype(int)
        order = np.lexsort((ranks, targets))
        listed, first = np.unique(targets[order], return_index=True)
        return listed, ranks[order][first]

    def rows(self) -> Iterator[Coverage]:
        """The result for each choice."""
        for number, (frequent, per_word) in enumerate(self.choices):
            yield Coverage(
                frequent,
                per_word,
                self.covered[number] / max(self.num_tokens, 1),
                self.covered_sentences[number] / self.num_sentences,
                self.sizes[number] / self.num_sentences,
            )

    def lines(self) -> Iterator[str]:
        """A table, in Markdown."""
        ceiling = 1 - self.num_unknown / max(self.num_tokens, 1)
        yield (
            f"{self.num_tokens:,} target tokens of {self.num_sentences:,} sentences; "
            f"{ceiling:.3f} of them are in the dictionary"
        )
        yield "| K | K' | tokens covered | sentences covered | mean list size |"
        yield "|---|---|---|---|---|"
        for row in self.rows():
            shares = f"{row.tokens:.3f} | {row.sentences:.3f}"
            yield f"| {row.frequent} | {row.per_word} | {shares} | {row.mean_size:,.0f} |"
