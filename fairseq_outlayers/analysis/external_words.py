"""Words of a text that a model with external vectors knows, and their translations.

Di Gangi & Federico (2017), tables 3 to 5: words unknown to the internal vocabulary, to the external
table, to both; unknown symbols in translations; sentences with a word that only one side knows.
"""

from typing import Dict, Iterator, List, NamedTuple, Sequence

import torch
from fairseq.data import Dictionary

from fairseq_outlayers.tables.external_table import ExternalTable

SIDES = ("internal", "external", "both")


class Knowledge(NamedTuple):
    """Whether the model's own vocabulary and the external table have a word."""

    internal: bool
    external: bool


class SourceWords:
    """Looks up which of internal vocabulary and external table know a source word.

    Args:
        dictionary: the source dictionary.
        internal_vocabulary: how many of its symbols have internal embeddings.
        table: external vectors.
    """

    def __init__(self, dictionary: Dictionary, internal_vocabulary: int, table: ExternalTable):
        self.dictionary = dictionary
        self.internal_vocabulary = internal_vocabulary
        self.table = table
        self._known: Dict[str, Knowledge] = {}

    def knowledge(self, word: str) -> Knowledge:
        """Which side knows ``word``. The table's shared vector of unknown words does not count."""
        if word not in self._known:
            id = self.dictionary.index(word)
            listed = id != self.dictionary.unk()
            vector = self.table.vectors(torch.tensor([id]))
            self._known[word] = Knowledge(
                listed and id < self.internal_vocabulary,
                listed and not bool(self.table.is_unknown(vector)),
            )
        return self._known[word]

    def missing(self, word: str) -> List[str]:
        """The ``SIDES`` that do not know ``word``."""
        known = self.knowledge(word)
        lacks = (not known.internal, not known.external, not any(known))
        return [side for side, lacking in zip(SIDES, lacks, strict=True) if lacking]


class Amount(NamedTuple):
    """Numbers of tokens and of types."""

    tokens: int
    types: int


def unknown_words(sentences: Sequence[List[str]], words: SourceWords) -> Dict[str, Amount]:
    """Words of a text unknown to each of ``SIDES`` (table 3)."""
    found: Dict[str, List[str]] = {side: [] for side in SIDES}
    for sentence in sentences:
        for word in sentence:
            for side in words.missing(word):
                found[side].append(word)
    return {side: Amount(len(tokens), len(set(tokens))) for side, tokens in found.items()}


class UnknownSymbols(NamedTuple):
    """Number of unknown symbols, and of sentences with one."""

    symbols: int
    sentences: int


def unknown_symbols(translations: Sequence[List[str]]) -> UnknownSymbols:
    """Those of translations (table 4)."""
    counts = [translation.count("<unk>") for translation in translations]
    return UnknownSymbols(sum(counts), sum(count > 0 for count in counts))


class OneSided(NamedTuple):
    """A sentence with a word that only one side knows."""

    number: int
    word: str
    unknown_to: str


def one_sided(sentences: Sequence[List[str]], words: SourceWords) -> Iterator[OneSided]:
    """Sentences for table 5, each with the first such word of either side."""
    for number, sentence in enumerate(sentences):
        first: Dict[str, str] = {}
        for word in sentence:
            missing = words.missing(word)
            if len(missing) == 1:
                first.setdefault(missing[0], word)
        for side, word in first.items():
            yield OneSided(number, word, side)
