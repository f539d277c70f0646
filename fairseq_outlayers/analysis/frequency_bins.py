"""Scores of translations by the training frequency of their words.

Reference, hypotheses and training text must be split into words (or subwords) in the same way.
Pappas et al. (2018, Figure 3) use thirds of the types (``--bins thirds``) of a BPE vocabulary. On a
small corpus of whole words almost every token falls into the first third, so bins by count are the
default. Only equal words match, not stems, synonyms or paraphrases as in the original METEOR, so
the scores do not compare with published METEOR scores.
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
    """Groups of words; the last one holds words that are not in the training text."""

    names: List[str]
    of_word: Dict[str, int]

    def bin_of(self, word: str) -> int:
        return self.of_word.get(word, len(self.names) - 1)

    def types(self) -> List[int]:
        """The number of types of the training text in each bin."""
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
    """Thirds of the types by frequency, most frequent first, and the unseen words.

    Equally frequent words are in alphabetical order.
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
    """Scores of each bin by its name, and of all words under ``ALL``."""
    scores = {name: statistics.scores(parameters, number) for number, name in enumerate(bins.names)}
    return {**scores, ALL: statistics.scores(parameters)}
