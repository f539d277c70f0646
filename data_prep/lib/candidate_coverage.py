"""Coverage of a reference translation by candidate lists, for each K and K'."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lib.candidate_files import RankedTranslations

from fairseq_outlayers.formats.dictionary import DictionaryFile

NEVER = np.iinfo(np.int64).max


class Coverage(NamedTuple):
    """Coverage by the lists for one choice of K and K'."""

    frequent: int  # K
    per_word: int  # K'
    tokens: float  # share of the target tokens, without </s>
    sentences: float  # share of sentences whose tokens are all in their list
    mean_size: float  # of the lists, with </s> and <unk>


class Counts:
    """Sums over sentences, for every choice of K and K'."""

    def __init__(self, number: int):
        self.tokens, self.sentences, self.sizes = np.zeros((3, number))


class CoverageReport:
    """Counts the target tokens that candidate lists cover.

    Everything is counted without copies and with them (``--candidate-copies``: each source word
    that is in the target dictionary is a candidate).

    Args:
        translations: of the source words.
        source, target: the dictionaries.
        choices: pairs of K (including ``</s>`` and ``<unk>``) and K'.
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
        self.counts = Counts(len(choices))
        self.counts_with_copies = Counts(len(choices))

    def add(self, source: str, target: str) -> None:
        """Count a sentence pair."""
        listed, ranks = self._translation_ranks(source)
        words = np.array([self.indices[1].get(word, -1) for word in target.split()], dtype=np.int64)
        known = words[words >= 0]
        by_translation = np.full(len(known), NEVER)
        if len(listed):
            index = np.searchsorted(listed, known).clip(max=len(listed) - 1)
            by_translation = np.where(listed[index] == known, ranks[index], NEVER)
        copies = np.setdiff1d(self._copies(source), self.translations.blocked)
        self.num_sentences += 1
        self.num_tokens += len(words)
        self.num_unknown += len(words) - len(known)
        is_copy, no_copy = np.isin(known, copies), np.zeros(len(known), dtype=bool)
        for number, (frequent, per_word) in enumerate(self.choices):
            limit = frequent - 2  # </s> and <unk> count
            covered = (self.frequency_rank[known] < limit) | (by_translation < per_word)
            added = listed[(self.frequency_rank[listed] >= limit) & (ranks < per_word)]
            copied = np.setdiff1d(copies[self.frequency_rank[copies] >= limit], added)
            for counts, by_copy, more in (
                (self.counts, no_copy, 0),
                (self.counts_with_copies, is_copy, len(copied)),
            ):
                allowed = (covered | by_copy).sum()
                counts.tokens[number] += allowed
                counts.sentences[number] += allowed == len(words)
                counts.sizes[number] += min(limit, self.num_frequent) + 2 + len(added) + more

    def _copies(self, source: str) -> np.ndarray:
        """Ids of target words that equal a source word of the sentence; both must be known."""
        known, same = self.indices
        found = {same[word] for word in source.split() if word in known and word in same}
        return np.array(sorted(found), dtype=np.int64)

    def _translation_ranks(self, source: str) -> tuple[np.ndarray, np.ndarray]:
        """Translations of a sentence's words, ids ascending, and the best rank of each."""
        ids = {self.indices[0][word] for word in source.split() if word in self.indices[0]}
        rows = [self.translations.row(number) for number in sorted(ids)]
        targets = np.concatenate([*rows, np.empty(0, dtype=np.int64)]).astype(np.int64)
        ranks = np.concatenate([*(np.arange(len(row)) for row in rows), np.empty(0)]).astype(int)
        order = np.lexsort((ranks, targets))
        listed, first = np.unique(targets[order], return_index=True)
        return listed, ranks[order][first]

    def rows(self, with_copies: bool = False) -> Iterator[Coverage]:
        """The coverage for each choice."""
        counts = self.counts_with_copies if with_copies else self.counts
        for number, (frequent, per_word) in enumerate(self.choices):
            yield Coverage(
                frequent,
                per_word,
                counts.tokens[number] / max(self.num_tokens, 1),
                counts.sentences[number] / self.num_sentences,
                counts.sizes[number] / self.num_sentences,
            )

    def lines(self) -> Iterator[str]:
        """A table, in Markdown."""
        ceiling = 1 - self.num_unknown / max(self.num_tokens, 1)
        yield (
            f"{self.num_tokens:,} target tokens of {self.num_sentences:,} sentences; "
            f"{ceiling:.3f} of them are in the dictionary"
        )
        yield (
            "| K | K' | tokens covered | sentences covered | mean list size "
            "| tokens with copies | sentences with copies | mean size with copies |"
        )
        yield "|---|---|---|---|---|---|---|---|"
        for row, copied in zip(self.rows(), self.rows(with_copies=True), strict=True):
            columns = [f"{row.frequent}", f"{row.per_word}"]
            for part in (row, copied):
                columns += [f"{part.tokens:.3f}", f"{part.sentences:.3f}", f"{part.mean_size:,.0f}"]
            yield f"| {' | '.join(columns)} |"
