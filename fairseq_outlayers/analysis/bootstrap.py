"""Confidence intervals of BLEU by bootstrap resampling of the test set (Koehn 2004)."""

from typing import List, NamedTuple, Optional, Sequence

import numpy as np
from sacrebleu.metrics import BLEU

RESAMPLES = 1000
SEED = 12345  # of the resamples; sacreBLEU's own default
CONFIDENCE = 95  # percent


class Interval(NamedTuple):
    """A score of the whole test set, and its 95% bootstrap interval."""

    value: float
    low: float
    high: float


class BleuIntervals(NamedTuple):
    """BLEU of every system; for two systems, also the second's minus the first's."""

    systems: List[Interval]
    difference: Optional[Interval]


def bleu_intervals(
    systems: Sequence[Sequence[str]],
    references: Sequence[str],
    metric: BLEU,
    resamples: int = RESAMPLES,
) -> BleuIntervals:
    """Corpus BLEU with percentile intervals; all systems are scored on the same resamples.

    Args:
        systems: hypotheses of one or more systems, line by line.
        references: one for each line.
        metric: decides tokenization and case.
        resamples: number of resamples.
    """
    size = len(references)
    drawn = np.random.RandomState(SEED).randint(size, size=(resamples, size))
    counts = np.stack([np.bincount(row, minlength=size) for row in drawn])
    wholes, samples = [], []
    for hypotheses in systems:
        statistics = sentence_statistics(hypotheses, references, metric)
        wholes.append(bleu_of(statistics.sum(0).tolist(), metric))
        samples.append(np.array([bleu_of(row, metric) for row in (counts @ statistics).tolist()]))
    found = [_interval(*pair) for pair in zip(wholes, samples, strict=True)]
    if len(systems) != 2:
        return BleuIntervals(found, None)
    return BleuIntervals(found, _interval(wholes[1] - wholes[0], samples[1] - samples[0]))


def _interval(value: float, resampled: np.ndarray) -> Interval:
    outside = (100 - CONFIDENCE) / 2
    low, high = np.percentile(resampled, (outside, 100 - outside))
    return Interval(float(value), float(low), float(high))


def sentence_statistics(
    hypotheses: Sequence[str], references: Sequence[str], metric: BLEU
) -> np.ndarray:
    """BLEU's sentence statistics: n-gram matches, n-grams, lengths; ``(sentences, 2 * N + 2)``."""
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        score = metric.corpus_score([hypothesis], [[reference]])
        rows.append([*score.counts, *score.totals, score.sys_len, score.ref_len])
    return np.array(rows)


def bleu_of(sums: List[int], metric: BLEU) -> float:
    """Corpus BLEU from summed statistics of sentences."""
    order = metric.max_ngram_order
    return metric.compute_bleu(
        correct=list(sums[:order]),
        total=list(sums[order : 2 * order]),
        sys_len=sums[-2],
        ref_len=sums[-1],
        smooth_method=metric.smooth_method,
        smooth_value=metric.smooth_value,
        effective_order=metric.effective_order,
        max_ngram_order=order,
    ).score
