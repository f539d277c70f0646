"""Scores of translations by how often training has seen the words.

Reference, hypotheses and training text must be split into words (or subwords) alike. Pappas et al.
(2018, Figure 3) take thirds of the types (``--bins thirds``) of a vocabulary of BPE pieces. On a
small corpus of whole words almost every token falls into the first third, so bins by count are the
default. METEOR matches equal words only, no stems, synonyms or paraphrases as the original program
does, so it does not compare with METEOR scores in print.
"""

from collections import Counter
from typing import Callable, Dict, List, NamedTuple

from fairseq_outlayers.analysis.meteor import (
    MatchStatistics,
    MeteorParameters,
    Scores,
)

ALL = "all"


class Bins(NamedTuple):
    """Groups of words; the last one holds those that training has never seen."""

    names: List[str]
    of_word: Dict[str, int]

    def bin_of(self, word: str) -> int:
        return self.of_word.get(word, len(self.names) - 1)

    def types(self) -> List[int]:
        """How many different words of the training text each bin holds."""
        sizes = Counter(self.of_word.values())
        return [sizes[number] for number in range(len(self.names))]


def bins_by_count(counts: Dict[str, int]) -> Bins:
    """Words seen at least 100 times, 10 to 99 times, 1 to 9 times, never."""
    names, least = [">=100", "10-99", "1-9", "0"], (100, 10, 1)
    of_word = {
        word: next(number for number, bound in enumerate(least) if count >= bound)
        for word, count in counts.items()
    }
    return Bins(names, of_word)


def bins_by_thirds(counts: Dict[str, int]) -> Bins:
    """The most frequent third of the types, the middle one, the least frequent one, the unseen.

    Among words that are equally frequent the alphabet decides.
    """
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    of_word = {word: rank * 3 // len(ranked) for rank, word in enumerate(ranked)}
    return Bins(["high", "medium", "low", "unseen"], of_word)


BIN_DEFINITIONS: Dict[str, Callable[[Dict[str, int]], Bins]] = {
    "counts": bins_by_count,
    "thirds": bins_by_thirds,
}


def scores_by_bin(
    statistics: MatchStatistics, bins: Bins, parameters: MeteorParameters
) -> Dict[str, Scores]:
    """Scores by the name of the bin, and of all words."""
    scores = {name: statistics.scores(parameters, number) for number, name in enumerate(bins.names)}
    return {**scores, ALL: statistics.scores(parameters)}
