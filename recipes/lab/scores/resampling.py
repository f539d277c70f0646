"""Bootstrap resampling of test set scores (Koehn 2004).

All systems are scored on the same resamples, so differences are paired. With several seeds, each
resample draws sentences, of which all seeds' scores are averaged, and a deviation of the seeds'
mean, of the size that their scores on the whole test set imply by Student's t (`seed_weights`).
Every resample of the sentences gets several of these, because with so few seeds an interval is
mostly theirs and would depend on the draws. A deviation contains already what sentences add to the
differences between seeds; resampled scores of single seeds would count that twice. (The mean of the
resampled scores counts a part of it: the interval is rather too wide where seeds differ in the
sentences that they get right.)
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.stats

RESAMPLES = 1000  # of the test set
DEVIATIONS = 40  # of the seeds' mean, for each
DRAWS = RESAMPLES * DEVIATIONS
SEED = 12345  # of the resamples; sacreBLEU's default
CONFIDENCE = 95  # percent
# With more seeds than a verdict needs, which are run where the first were undecided. Of the rows
# without a difference 7.1% are then decided by one of the looks at three and at six seeds; at 95%,
# 8.8% (simulated; of a known variance, 8.3%: Pocock 1977).
CONFIDENCE_OF_SECOND_LOOK = 97.06
# For a verdict: before convergence, two seeds of one arm have differed by 13 BLEU.
SEEDS_NEEDED = 3
IN_WORDS = f"{CONFIDENCE}% ({CONFIDENCE_OF_SECOND_LOOK:.0f}% with more than {SEEDS_NEEDED} seeds)"


def confidence(seeds: int) -> float:
    """The confidence of an interval, in percent."""
    return CONFIDENCE if seeds <= SEEDS_NEEDED else CONFIDENCE_OF_SECOND_LOOK


def confidence_in_words(seeds: Iterable[int]) -> str:
    """The confidence of intervals with these numbers of seeds."""
    return IN_WORDS if any(number > SEEDS_NEEDED for number in seeds) else f"{CONFIDENCE}%"


class Estimate(NamedTuple):
    """A figure on the test set with its interval (see `confidence`)."""

    value: float
    low: float
    high: float
    seeds: int

    @property
    def enough_seeds(self) -> bool:
        """Whether the seeds suffice for a verdict."""
        return self.seeds >= SEEDS_NEEDED

    @property
    def opposite(self) -> "Estimate":
        """With the other sign."""
        return Estimate(0.0 - self.value, 0.0 - self.high, 0.0 - self.low, self.seeds)  # no -0.0

    def text(self, form: str = "+.2f", unit: str = "") -> str:
        """Value, interval and number of seeds."""
        seeds = f"{self.seeds} seed{'s' if self.seeds > 1 else ''}"
        return f"{self.interval(form)}{unit}, {seeds}"

    def interval(self, form: str = "+.2f") -> str:
        """Value and interval."""
        form = re.sub("^[+]?", r"\g<0>z", form)  # without -0.0
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"


class Metric(NamedTuple):
    """A corpus-level figure computed from sums over sentences.

    Attributes:
        name: key of cached scores.
        form: "tokenised" or "plain" text; "scores": stored log-probabilities (sentence_scores.py).
        statistics: from hypotheses and references, ``(sentences, n)``.
        score: from the ``n`` sums.
    """

    name: str
    form: str
    statistics: Callable[[Sequence[str], Sequence[str]], np.ndarray]
    score: Callable[[Sequence[int]], float]

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Scores of the whole test set, then of its resamples, ``(1 + RESAMPLES,)``.

        Args:
            rows: statistics of the sentences, ``(sentences, n)``.
        """
        sums = np.concatenate([rows.sum(axis=0)[None], multiplicities(len(rows)) @ rows])
        return np.array([self.score(row) for row in sums.tolist()])


def estimate(values: np.ndarray, seeds: int) -> Estimate:
    """A figure with its percentile interval.

    Args:
        values: on the whole test set, then in every draw, ``(1 + DRAWS,)``.
    """
    outside = (100 - confidence(seeds)) / 2
    low, high = np.percentile(values[1:], (outside, 100 - outside))
    return Estimate(float(values[0]), float(low), float(high), seeds)


@lru_cache(maxsize=4)  # every arm, seed and metric of a test set uses the same
def multiplicities(sentences: int) -> np.ndarray:
    """Counts of each sentence in each resample, ``(RESAMPLES, sentences)``; deterministic."""
    drawn = np.random.RandomState(SEED).randint(sentences, size=(RESAMPLES, sentences))
    counts = np.stack([np.bincount(row, minlength=sentences) for row in drawn])
    counts.flags.writeable = False
    return counts


@lru_cache(maxsize=8)
def seed_weights(seeds: int) -> np.ndarray:
    """Weights of the seeds' deviations in each draw, ``(seeds, DRAWS)``; deterministic.

    Normal, for each resample as often negative as positive, with exactly the covariance of
    independent seeds. Weighted and summed, the deviations of ``n`` seeds from their mean have the
    interval of Student's t with ``n - 1`` degrees of freedom around the mean, within one or two
    percent, at the confidence for that number of seeds. Drawing seeds instead would be coarse: with
    three, an interval would end at the least and the largest.
    """
    if seeds == 1:
        weights = np.zeros((1, DRAWS))
    else:
        half = np.random.RandomState(SEED).standard_normal((seeds, DRAWS // 2))
        half = np.linalg.solve(np.linalg.cholesky(half @ half.T / (DRAWS // 2)), half)
        share = 0.5 + confidence(seeds) / 200
        student, normal = scipy.stats.t.ppf(share, seeds - 1), scipy.stats.norm.ppf(share)
        scale = round(float(student), 3) / round(float(normal), 3) / math.sqrt(seeds * (seeds - 1))
        signs = np.stack([half, -half], axis=2)  # side by side, in the same resample
        weights = signs.reshape(seeds, DRAWS) * scale
    weights.flags.writeable = False
    return weights


def over_seeds(values: np.ndarray) -> np.ndarray:
    """The mean of all seeds, then in each draw with a deviation by their differences.

    Args:
        values: on the whole test set, then on every resample, ``(seeds, 1 + RESAMPLES)``; or, of
            figures without sentences to resample, ``(seeds, 1)``.
    Returns:
        ``(1 + DRAWS,)``
    """
    whole = values[:, 0]
    resampled = np.broadcast_to(values[:, -RESAMPLES:], (len(values), RESAMPLES)).mean(axis=0)
    deviation = (whole - whole.mean()) @ seed_weights(len(values))
    return np.concatenate([[whole.mean()], np.repeat(resampled, DEVIATIONS) + deviation])


@lru_cache(maxsize=1)
def _standard_draws() -> np.ndarray:
    """Normal with variance 1, for each resample as often negative as positive, ``(DRAWS,)``."""
    half = np.random.RandomState(SEED).standard_normal(DRAWS // 2)
    half /= math.sqrt((half**2).mean())
    draws = np.stack([half, -half], axis=1).reshape(DRAWS)
    draws.flags.writeable = False
    return draws


def over_unpaired_seeds(terms: Sequence[np.ndarray]) -> np.ndarray:
    """The sum of means over seeds, if the seeds of one term have nothing to do with those of
    another (Welch 1947), as `over_seeds` is for the same seeds of all.

    Sentences stay paired: all terms are scored on the same resamples.

    Args:
        terms: weighted figures, each like the argument of `over_seeds`.
    """
    value = sum(term[:, 0].mean() for term in terms)
    resampled = sum(np.broadcast_to(term[:, -RESAMPLES:].mean(axis=0), RESAMPLES) for term in terms)
    seeds = len(terms[0])
    variances = [term[:, 0].var(ddof=1) / seeds for term in terms] if seeds > 1 else [0.0]
    variance, deviation = sum(variances), 0.0
    if variance:
        freedom = variance**2 / sum(one**2 / (seeds - 1) for one in variances)
        share = 0.5 + confidence(seeds) / 200
        student = scipy.stats.t.ppf(share, freedom) / scipy.stats.norm.ppf(share)
        deviation = math.sqrt(variance) * student * _standard_draws()
    return np.concatenate([[value], np.repeat(resampled, DEVIATIONS) + deviation])


def ratio_over_seeds(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The ratio of two positive figures, such as perplexities; see `over_seeds`.

    Means and deviations are those of the seeds' log ratios: so it does not matter which figure is
    below, and a few seeds that differ by a factor do not skew the interval.

    Args:
        one: by seed, like the argument of `over_seeds`.
        other: with the same seeds.
    Returns:
        ``(1 + DRAWS,)``
    """
    return np.exp(over_seeds(np.log(one) - np.log(other)))


def percent_saved(one: np.ndarray, other: np.ndarray) -> Estimate:
    """How much smaller a figure is than another, in percent of that; see `ratio_over_seeds`."""
    return estimate(100 * (1 - ratio_over_seeds(one, other)), len(one))


def percent_saved_unpaired(one: np.ndarray, other: np.ndarray) -> Estimate:
    """The same as `percent_saved`, if seeds are not paired; see `over_unpaired_seeds`."""
    ratio = np.exp(over_unpaired_seeds([np.log(one), -np.log(other)]))
    return estimate(100 * (1 - ratio), len(one))


def bleu(tokenised: bool, lowercase: bool = False) -> Metric:
    """Corpus BLEU."""
    # Imported here because it imports PyTorch, which most commands do not need.
    from fairseq_outlayers.analysis.bootstrap import bleu_of
    from recipes.lab.scores.scoring import bleu_metric

    metric = bleu_metric(tokenised, lowercase)
    return Metric(
        f"BLEU {tokenised} {lowercase}",
        "tokenised" if tokenised else "plain",
        lambda hypotheses, references: _bleu_statistics(
            tuple(hypotheses), tuple(references), tokenised, lowercase
        ),
        lambda sums: bleu_of(sums, metric),
    )


@lru_cache(maxsize=1024)  # a report compares one translation in several tables and claims
def _bleu_statistics(
    hypotheses: tuple[str, ...], references: tuple[str, ...], tokenised: bool, lowercase: bool
) -> np.ndarray:
    from fairseq_outlayers.analysis.bootstrap import sentence_statistics
    from recipes.lab.scores.scoring import bleu_metric

    found = sentence_statistics(hypotheses, references, bleu_metric(tokenised, lowercase))
    found.flags.writeable = False
    return found


def without_brevity_penalty(metric: Metric) -> Metric:
    """BLEU with a brevity penalty of 1."""

    def score(sums: Sequence[int]) -> float:
        length = sums[-2]
        return metric.score([*sums[:-1], length])

    return metric._replace(name=f"{metric.name} without brevity penalty", score=score)


def of_lengths(metric: Metric, low: int, high: int) -> Metric:
    """The same over sentences with ``low <= words < high`` in the reference."""

    def statistics(hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        lengths = np.array([len(line.split()) for line in references])
        chosen = (lengths >= low) & (lengths < high)
        return metric.statistics(hypotheses, references) * chosen[:, None]

    return metric._replace(name=f"{metric.name} of {low} to {high}", statistics=statistics)
