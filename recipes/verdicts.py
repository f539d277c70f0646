"""Is a paper's claim true here? Holds, fails, undecided, or not run, with the numbers.

A claim is some inequalities, written down before any arm was run. An inequality between BLEU scores
is decided by the interval of their difference over resampled test sets: undecided if it contains 0,
and also if there is one seed alone and less than half a BLEU point. With several seeds each
resample draws the seeds as well as the sentences, so that the interval covers both.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from recorded_runs import Runs, Weights
from resampling import Interval

HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "fails", "undecided", "not run"
SMALLEST = 0.5  # BLEU: less than this means nothing with one seed, and "about equal" in a claim


class Part(NamedTuple):
    """One inequality of a claim, and what became of it."""

    inequality: str
    verdict: str
    numbers: str = ""


class Claim(NamedTuple):
    """What a paper says, and its inequalities: all of them must hold, or any one of them."""

    number: int
    text: str
    parts: Sequence[Part]
    any_is_enough: bool = False

    @property
    def verdict(self) -> str:
        return together([part.verdict for part in self.parts], self.any_is_enough)


def together(verdicts: Sequence[str], any_is_enough: bool = False) -> str:
    """One inequality decides a claim if it can; else what is missing weighs more than doubt."""
    first, last = (HOLDS, FAILS) if any_is_enough else (FAILS, HOLDS)
    order = (first, NOT_RUN, UNDECIDED, last)
    return next(verdict for verdict in order if verdict in (verdicts or [NOT_RUN]))


def verdict_of(
    found: Interval,
    seeds: int,
    low: float = 0.0,
    high: float = math.inf,
    smallest: float = SMALLEST,
) -> str:
    """Of the inequality "this difference, of scores from 0 to 100, is at least 0".

    Args:
        low: at least this instead of 0.
        high: and at most this.
        smallest: what is less means nothing with one seed; 0 for what is not in points.
    """
    if seeds == 1 and abs(found.difference) < smallest:
        return UNDECIDED
    if low < found.low and found.high < high:
        return HOLDS
    return FAILS if found.high < low or high < found.low else UNDECIDED


def equality_of(found: Interval, seeds: int) -> str:
    """Of "this difference is less than half a BLEU point in either direction"."""
    return verdict_of(found, seeds, -SMALLEST, SMALLEST, smallest=0.0)


def bleu_part(
    runs: Runs,
    inequality: str,
    weights: Weights,
    judge: Callable[[Interval, int], str] = verdict_of,
) -> Part:
    """An inequality about the weighted sum of some arms' BLEU: at least 0, or what `judge` says.

    Args:
        weights: their sum is 0, unless an arm stands on both sides.
    """
    if sum(weights.values()) != 0:
        return Part(inequality, NOT_RUN, "the same arm on both sides")
    found = runs.difference(weights)
    if found is None:
        missing = [arm for arm in weights if arm not in runs]
        return Part(inequality, NOT_RUN, f"missing: {', '.join(missing) or 'translations'}")
    difference, seeds = found
    if not any(runs.bleu(arm) for arm in weights):
        return Part(inequality, UNDECIDED, "BLEU is 0 everywhere")
    return Part(inequality, judge(difference, seeds), in_words(difference, seeds))


def in_words(difference: Interval, seeds: int) -> str:
    """The numbers behind a verdict."""
    return f"{difference}, {seeds} seed{'s' if seeds > 1 else ''}"


def at_least(runs: Runs, better: str, worse: str) -> Part:
    """BLEU of one arm is not below that of another."""
    return bleu_part(runs, f"BLEU({better}) ≥ BLEU({worse})", {better: 1, worse: -1})


def about_equal(runs: Runs, one: str, other: str) -> Part:
    """BLEU of one arm is about that of another."""
    weights = {one: 1, other: -1}
    return bleu_part(runs, f"BLEU({one}) ≈ BLEU({other})", weights, equality_of)


def measured(inequality: str, values: Sequence[float], threshold: float) -> Part:
    """Something measured several times, each of which should reach a threshold."""
    if not values:
        return Part(inequality, NOT_RUN, "not measured")
    reached = [value >= threshold for value in values]
    verdict = HOLDS if all(reached) else UNDECIDED if any(reached) else FAILS
    return Part(inequality, verdict, ", ".join(f"{value:.2f}" for value in values))


def markdown(title: str, claims: Sequence[Claim], notes: Sequence[str]) -> str:
    """A table of the verdicts, then every inequality with its numbers."""
    lines = [f"# {title}", "", "| claim | verdict |", "|---|---|"]
    lines += [f"| {claim.number}. {claim.text} | **{claim.verdict}** |" for claim in claims]
    lines += ["", *(f"- {note}" for note in notes), ""]
    for claim in claims:
        needs = "one is enough" if claim.any_is_enough else "all are needed"
        lines += [f"## {claim.number}. {claim.verdict}", "", f"{claim.text}", ""]
        lines += [f"| inequality ({needs}) | verdict | numbers |", "|---|---|---|"]
        lines += [
            f"| {part.inequality} | {part.verdict} | {part.numbers} |" for part in claim.parts
        ]
        lines += [""]
    return "\n".join(lines)


def as_json(claims: Sequence[Claim]) -> list[dict]:
    """The same for programs."""
    return [
        {
            "number": claim.number,
            "claim": claim.text,
            "verdict": claim.verdict,
            "parts": [part._asdict() for part in claim.parts],
        }
        for claim in claims
    ]
