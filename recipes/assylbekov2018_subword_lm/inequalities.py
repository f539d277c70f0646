"""Is one figure smaller than another? Decided with one run of each, or with several seeds."""

from collections.abc import Sequence
from statistics import mean

from verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED, Part

CLOSE = 0.01  # relative difference that decides nothing where one side has one seed


def verdict(smaller: Sequence[float], larger: Sequence[float], close: float = CLOSE) -> str:
    """Of "the first are smaller"; the ledger has no likelihoods of sentences to resample."""
    difference = mean(larger) - mean(smaller)
    overlapping = min(larger) <= max(smaller) and min(smaller) <= max(larger)
    fewest, most = sorted((len(smaller), len(larger)))
    too_close = fewest == 1 and abs(difference) < close * abs(mean(larger))
    if too_close or (most > 1 and overlapping):
        return UNDECIDED
    return HOLDS if difference > 0 else FAILS


def less(
    inequality: str,
    smaller: Sequence[float],
    larger: Sequence[float],
    form: str = ".1f",
    close: float = CLOSE,
) -> Part:
    """An inequality with its numbers, the mean over the seeds of each side.

    Args:
        inequality: in words.
        smaller: a value a seed, claimed to be smaller than ``larger``.
        form: of the numbers.
        close: relative difference that decides nothing where one side has one seed.
    """
    if not smaller or not larger:
        return Part(inequality, NOT_RUN)
    numbers = f"{mean(smaller):{form}}, {mean(larger):{form}}"
    seeds = min(len(smaller), len(larger))
    return Part(
        inequality,
        verdict(smaller, larger, close),
        numbers + (f" ({seeds} seeds)" if seeds > 1 else ""),
    )
