"""BLEU of test sets resampled with replacement (Koehn 2004): how sure a difference is.

All systems are scored on the same resamples, so their differences are paired.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics import BLEU

RESAMPLES = 1000
SEED = 12345  # of the resamples; sacreBLEU's own default
CONFIDENCE = 95  # percent


class Interval(NamedTuple):
    """A difference in BLEU on the test set, and where 95% of the resampled ones lie."""

    difference: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.difference:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


def interval(difference: float, resampled: np.ndarray) -> Interval:
    """The percentile interval around a difference.

    Args:
        difference: on the whole test set.
        resampled: the same on every resample, ``(RESAMPLES,)``.
    """
    outside = (100 - CONFIDENCE) / 2
    low, high = np.percentile(resampled, (outside, 100 - outside))
    return Interval(difference, float(low), float(high))


def multiplicities(sentences: int) -> np.ndarray:
    """How often each sentence is in each resample, ``(RESAMPLES, sentences)``; always the same."""
    drawn = np.random.RandomState(SEED).randint(sentences, size=(RESAMPLES, sentences))
    return np.stack([np.bincount(row, minlength=sentences) for row in drawn])


def drawn_seeds(seeds: int) -> np.ndarray:
    """Which runs stand for all in each resample, ``(seeds, RESAMPLES)``; always the same."""
    return np.random.RandomState(SEED).randint(seeds, size=(seeds, RESAMPLES))


def resampled_bleu(
    hypotheses: Sequence[str], references: Sequence[str], metric: BLEU
) -> np.ndarray:
    """Corpus BLEU on every resample of the sentences, ``(RESAMPLES,)``."""
    sums = multiplicities(len(references)) @ sentence_statistics(hypotheses, references, metric)
    return np.array([bleu_of(row, metric) for row in sums.tolist()])


def sentence_statistics(
    hypotheses: Sequence[str], references: Sequence[str], metric: BLEU
) -> np.ndarray:
    """What corpus BLEU is made of, summed: n-gram matches, n-grams, and both lengths.

    Returns:
        ``(sentences, 2 * orders + 2)``.
    """
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        score = metric.corpus_score([hypothesis], [[reference]])
        rows.append([*score.counts, *score.totals, score.sys_len, score.ref_len])
    return np.array(rows)


def bleu_of(sums: Sequence[int], metric: BLEU) -> float:
    """Corpus BLEU from summed statistics of sentences."""
    order = metric.max_ngram_order
    return metric.compute_bleu(
        correct=sums[:order],
        total=sums[order : 2 * order],
        sys_len=sums[-2],
        ref_len=sums[-1],
        smooth_method=metric.smooth_method,
        smooth_value=metric.smooth_value,
        effective_order=metric.effective_order,
        max_ngram_order=order,
    ).score
