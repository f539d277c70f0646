"""METEOR with exact matches, over all words or over one group of them."""

from collections import Counter
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence

from fairseq_outlayers.analysis.alignment import align


class MeteorParameters(NamedTuple):
    """METEOR 1.5's parameters for a language.

    ``alpha`` weighs recall against precision, ``beta`` and ``gamma`` shape the fragmentation
    penalty, ``delta`` is the weight of words outside the group, ``1 - delta`` of those in it.
    """

    alpha: float
    beta: float
    gamma: float
    delta: float


# Pappas et al. (2018), "Datasets and Metrics". delta = 0: only the words of the group count.
PARAMETERS: Dict[str, MeteorParameters] = {
    "de": MeteorParameters(0.95, 1.0, 0.55, 0.0),
    "en": MeteorParameters(0.85, 0.2, 0.6, 0.0),
}


class Scores(NamedTuple):
    """Word counts and their ratios; None where a ratio is 0 / 0."""

    reference_words: int
    hypothesis_words: int
    matches: int
    precision: Optional[float]
    recall: Optional[float]
    f1: Optional[float]
    meteor: Optional[float]


class MatchStatistics:
    """Corpus-level sums of sentence statistics, from which METEOR computes scores.

    Args:
        hypotheses: words of each sentence.
        references: words of each sentence, as many.
        group_of: maps a word to the number of its group.
    """

    def __init__(
        self,
        hypotheses: Sequence[List[str]],
        references: Sequence[List[str]],
        group_of: Callable[[str], int],
    ):
        self.hypothesis_words: Counter[int] = Counter()
        self.reference_words: Counter[int] = Counter()
        self.matches: Counter[int] = Counter()
        self.chunks = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            self.hypothesis_words.update(map(group_of, hypothesis))
            self.reference_words.update(map(group_of, reference))
            self.matches.update(
                map(group_of, (Counter(hypothesis) & Counter(reference)).elements())
            )
            self.chunks += align(hypothesis, reference).chunks

    def scores(self, parameters: MeteorParameters, group: Optional[int] = None) -> Scores:
        """Scores of one group, or of all words alike.

        METEOR is ``F (1 - gamma (chunks / matches)^beta)`` with ``F = P R / (alpha P +
        (1 - alpha) R)``. ``P`` and ``R`` are weighted by ``delta``; chunks and their matches are
        those of whole sentences, the same for all groups. A perfect translation has one chunk per
        sentence, so it scores less than 1.
        """
        words = (self.hypothesis_words, self.reference_words, self.matches)
        hypothesis, reference, matches = (
            counts.total() if group is None else counts[group] for counts in words
        )
        precision, recall = _fraction(matches, hypothesis), _fraction(matches, reference)
        if group is None:
            weighted = (precision, recall)
        else:
            delta = parameters.delta
            sums = [(1 - delta) * c[group] + delta * (c.total() - c[group]) for c in words]
            weighted = (_fraction(sums[2], sums[0]), _fraction(sums[2], sums[1]))
        f_mean = _f_measure(*weighted, parameters.alpha)
        return Scores(
            reference_words=reference,
            hypothesis_words=hypothesis,
            matches=matches,
            precision=precision,
            recall=recall,
            f1=_f_measure(precision, recall, 0.5),
            meteor=None if f_mean is None else f_mean * (1 - self._penalty(parameters)),
        )

    def _penalty(self, parameters: MeteorParameters) -> float:
        matches = self.matches.total()
        return parameters.gamma * (self.chunks / matches) ** parameters.beta if matches else 0.0


def _fraction(part: float, whole: float) -> Optional[float]:
    return part / whole if whole else None


def _f_measure(
    precision: Optional[float], recall: Optional[float], alpha: float
) -> Optional[float]:
    """Harmonic mean with weight ``alpha`` for recall; None if both are None."""
    if precision is None and recall is None:
        return None
    if not precision or not recall:
        return 0.0
    return precision * recall / (alpha * precision + (1 - alpha) * recall)
