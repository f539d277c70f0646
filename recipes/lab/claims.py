"""Claims of a paper as inequalities, decided by intervals over seeds and test sentences.

The inequalities of a claim are written before any arm is run. Each is about a figure with an
interval, and it

- *holds* if the whole interval satisfies it,
- *fails* if the whole interval violates it,
- finds *no difference* if the interval contains the limit and lies within a margin of it,
- is *undecided* otherwise, and always with fewer than three seeds.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from recipes.lab.markdown import markdown_table
from recipes.lab.runs import Runs, Score, Weights
from recipes.lab.scores.resampling import (
    IN_WORDS,
    SEEDS_NEEDED,
    Estimate,
    estimate,
    over_seeds,
    percent_saved,
)

HOLDS, FAILS, SAME, UNDECIDED, NOT_RUN = "holds", "fails", "no difference", "undecided", "not run"
PARTLY_RUN = "partly run"
MISSING = "missing: "  # begins the numbers of an inequality that was not run
NOT_COUNTED = "not counted"  # an inequality that is only shown
MARGIN = 0.5  # BLEU; within this difference, two systems are "about equal"
CLOSE = 0.01  # the same for perplexities and other figures, relative to the second one
ROUNDS_NEEDED = 5
NOTES = (
    f"[...] is an interval of {IN_WORDS}: more seeds are a second look at a row. It is over test"
    " sentences (1,000 bootstrap resamples) and seeds (Student's t); without stored sentences"
    " (gates, components, older perplexities) over seeds only; with one seed over test sentences"
    " alone, and far too narrow.",
    f"*{HOLDS}*, *{FAILS}*: the whole interval is on one side of the limit. *{SAME}*: the interval"
    f" contains the limit and lies within {MARGIN} BLEU or METEOR ({CLOSE:.0%} of other figures)"
    f" of it. *{UNDECIDED}*: otherwise, and always with fewer than {SEEDS_NEEDED} seeds. A claim"
    " with ≈ holds if the interval is within that margin. One with several inequalities fails if"
    " one does: where all are true ties, by chance in up to 2.5% for each.",
)


class Part(NamedTuple):
    """One inequality of a claim with its verdict; if it was not run, what is missing."""

    inequality: str
    verdict: str
    numbers: str = ""

    @property
    def missing(self) -> list[str]:
        """Names of the arms that were not run, or another reason in words."""
        if self.verdict != NOT_RUN:
            return []
        return [name for name in self.numbers.removeprefix(MISSING).split(", ") if name]


class Claim(NamedTuple):
    """A claim and its inequalities, of which all must hold, or any one."""

    number: int
    text: str
    parts: Sequence[Part]
    any_is_enough: bool = False

    @property
    def verdict(self) -> str:
        return together([part.verdict for part in self.deciding], self.any_is_enough)

    @property
    def deciding(self) -> Sequence[Part]:
        """The inequalities that the verdict depends on."""
        return [part for part in self.parts if part.verdict != NOT_COUNTED]

    @property
    def shown(self) -> str:
        """The verdict for readers: "partly run" if inequalities are missing for it."""
        tried = any(part.verdict != NOT_RUN for part in self.deciding)
        return PARTLY_RUN if tried and self.verdict == NOT_RUN else self.verdict


def numbered(found: Mapping[str, Sequence[Part]]) -> list[Claim]:
    """Claims numbered from 1, from the inequalities of each text."""
    return [Claim(n, text, parts) for n, (text, parts) in enumerate(found.items(), start=1)]


def together(verdicts: Sequence[str], any_is_enough: bool = False) -> str:
    """Combine verdicts: a decisive inequality first, then not run, then undecided."""
    first, last = (HOLDS, FAILS) if any_is_enough else (FAILS, HOLDS)
    order = (first, NOT_RUN, UNDECIDED, SAME, last)
    return next(verdict for verdict in order if verdict in (verdicts or [NOT_RUN]))


def judge(found: Estimate, low: float = 0.0, high: float = math.inf, margin: float = MARGIN) -> str:
    """The verdict on the inequality ``low < figure < high``.

    Args:
        margin: distance from a limit that counts as no difference; 0: never.
    """
    if not found.enough_seeds:
        return UNDECIDED
    if low < found.low and found.high < high:
        return HOLDS
    if found.high < low or high < found.low:
        return FAILS
    close = any(limit - margin < found.low and found.high < limit + margin for limit in (low, high))
    return SAME if close else UNDECIDED


def measured(
    runs: Runs,
    inequality: str,
    arms: Sequence[str],
    statistic: Callable[[Score], np.ndarray],
    low: float = 0.0,
    high: float = math.inf,
    margin: float = MARGIN,
    form: str = "+.2f",
) -> Part:
    """An inequality about a figure computed from arms' scores.

    Args:
        statistic: see `Runs.estimate`.
        form: format of the numbers.
    """
    if len(set(arms)) < len(arms):
        return Part(inequality, NOT_RUN, "the same arm on both sides")
    missing = [arm for arm in arms if arm not in runs]
    found = None if missing else runs.estimate(arms, statistic)
    if found is None and not missing and (view := runs.alike(arms)):
        if view.seeds(arms):
            return Part(inequality, UNDECIDED, "translations were not kept")
        return Part(inequality, NOT_RUN, f"{MISSING}a seed that all arms have")
    if found is None:
        lacking = ", ".join(missing) or f"{' and '.join(arms)} trained alike"
        return Part(inequality, NOT_RUN, f"{MISSING}{lacking}")
    if math.isnan(found.value + found.low + found.high):
        return Part(inequality, UNDECIDED, "divides by 0 on the test set or on a resample")
    numbers = found.text(form) + runs.older(arms)
    return Part(inequality, judge(found, low, high, margin), numbers)


def weighted(
    runs: Runs,
    inequality: str,
    weights: Weights,
    low: float = 0.0,
    high: float = math.inf,
    margin: float = MARGIN,
) -> Part:
    """An inequality about a weighted sum of BLEU scores; default: at least 0.

    Args:
        weights: their sum is 0, unless an arm is on both sides.
    """
    if sum(weights.values()) != 0:
        return Part(inequality, NOT_RUN, "the same arm on both sides")
    if all(runs.bleu(arm) == 0 for arm in weights):
        return Part(inequality, UNDECIDED, "BLEU is 0 everywhere")

    def total(score: Score) -> np.ndarray:
        return sum(weight * score(arm) for arm, weight in weights.items())

    return measured(runs, inequality, list(weights), total, low, high, margin)


def at_least(runs: Runs, better: str, worse: str, decide: Callable[..., Part] = weighted) -> Part:
    """BLEU of one arm is at least that of another.

    Args:
        decide: :func:`weighted`, or a stricter function with its arguments.
    """
    return decide(runs, f"BLEU({better}) ≥ BLEU({worse})", {better: 1, worse: -1})


def about_equal(runs: Runs, one: str, other: str, decide: Callable[..., Part] = weighted) -> Part:
    """BLEU of one arm is about that of another; ``decide`` as for :func:`at_least`."""
    inequality = f"BLEU({one}) ≈ BLEU({other})"
    return decide(runs, inequality, {one: 1, other: -1}, -MARGIN, MARGIN, margin=0)


def smaller(
    inequality: str, first: Sequence[float], second: Sequence[float], form: str = ".1f"
) -> Part:
    """A figure without sentences to resample is smaller than another.

    Args:
        first: values by seed, claimed to be smaller than those of ``second``; seeds in the same
            order, surplus values of one side are ignored.
        form: format of the numbers.
    """
    seeds = min(len(first), len(second))
    if not seeds:
        return Part(inequality, NOT_RUN)
    values = [over_seeds(np.array(side[:seeds])[:, None]) for side in (first, second)]
    return smaller_resampled(inequality, *values, seeds, form)


def smaller_resampled(
    inequality: str, first: np.ndarray, second: np.ndarray, seeds: int, form: str = ".1f"
) -> Part:
    """A figure is smaller than another.

    Args:
        first: on the whole test set, then in every draw, ``(1 + DRAWS,)``; claimed to be
            smaller than ``second``.
        form: format of the numbers.
    """
    found = estimate(second - first, seeds)
    numbers = f"{first[0]:{form}}, {second[0]:{form}}"
    if found.low < found.high or seeds > 1:
        numbers += f"; difference {found.text('+' + form)}"
    return Part(inequality, judge(found, margin=CLOSE * abs(second[0])), numbers)


def smaller_in_percent(inequality: str, by_seed: Sequence[np.ndarray], form: str = ".1f") -> Part:
    """A perplexity is smaller than another, by the interval of their log ratio (`percent_saved`).

    Args:
        by_seed: of both, ``(seeds, 1 + RESAMPLES)`` or ``(seeds, 1)``.
        form: format of the perplexities.
    """
    found = percent_saved(*by_seed)
    numbers = ", ".join(f"{values[:, 0].mean():{form}}" for values in by_seed)
    if found.low < found.high or found.seeds > 1:
        numbers += f"; saved {found.text('+.1f', '%')}"
    return Part(inequality, judge(found, margin=100 * CLOSE), numbers)


def exact(inequality: str, holds: bool | None, numbers: str = "") -> Part:
    """An exact figure, such as a number of parameters; None if it is missing."""
    return Part(inequality, NOT_RUN if holds is None else HOLDS if holds else FAILS, numbers)


def every_round(inequality: str, values: Sequence[float], threshold: float, step: str) -> Part:
    """A figure measured in rounds, each of which should reach a threshold.

    Undecided with fewer than five rounds.

    Args:
        step: the step that measures it.
    """
    if not values:
        return Part(inequality, NOT_RUN, f"not measured ({step})")
    reached = [value >= threshold for value in values]
    verdict = HOLDS if all(reached) else UNDECIDED if any(reached) else FAILS
    verdict = UNDECIDED if len(values) < ROUNDS_NEEDED else verdict
    return Part(inequality, verdict, ", ".join(f"{value:.2f}" for value in values))


def ratios(rounds: dict[str, list[float]], fast: str, slow: str) -> list[float]:
    """Ratio of two speeds in each round; empty if not measured."""
    if fast not in rounds or slow not in rounds:
        return []
    return [own / other for own, other in zip(rounds[fast], rounds[slow], strict=True)]


def markdown(title: str, claims: Sequence[Claim], notes: Sequence[str]) -> list[str]:
    """A table of verdicts, then the inequalities with their numbers.

    Claims that were not run are only in the first table; other inequalities not run share one row.
    """
    rows = [(f"{claim.number}. {claim.text}", f"**{claim.shown}**") for claim in claims]
    lines = [f"# {title}", "", *markdown_table(("claim", "verdict"), rows), ""]
    lines += [*(f"- {note}" for note in notes), ""]
    for claim in claims:
        tried = [part for part in claim.parts if part.verdict != NOT_RUN]
        if not tried:
            continue
        needs = "one is enough" if claim.any_is_enough else "all are needed"
        lines += [f"## {claim.number}. {claim.shown}", "", f"{claim.text}", ""]
        cells = [(part.inequality, part.verdict, part.numbers) for part in tried]
        headings = (f"inequality ({needs})", "verdict", "numbers")
        lines += [*markdown_table(headings, [*cells, *_not_run(claim)]), ""]
    return lines


def _not_run(claim: Claim) -> list[tuple[str, str, str]]:
    """One row for all inequalities that were not run."""
    parts = [part for part in claim.parts if part.verdict == NOT_RUN]
    if not parts:
        return []
    missing = dict.fromkeys(name for part in parts for name in part.missing)
    return [(f"{len(parts)} more", NOT_RUN, ", ".join(missing))]


def as_json(claims: Sequence[Claim]) -> list[dict]:
    """The claims as JSON."""
    return [
        {
            "number": claim.number,
            "claim": claim.text,
            "verdict": claim.verdict,
            "parts": [part._asdict() for part in claim.parts],
        }
        for claim in claims
    ]
