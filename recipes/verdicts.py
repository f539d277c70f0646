"""Is a paper's claim true here? Holds, fails, undecided, or not run, with the numbers.

A claim is some inequalities, written down before any arm was run. An inequality between BLEU scores
is decided by the interval of their difference over resampled test sets: undecided if it contains 0,
and also if there is one seed alone and less than half a BLEU point. With several seeds each
resample draws the seeds as well as the sentences, so that the interval covers both.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import comparison
import ledger
import scoring
from resampling import Interval, drawn_seeds, interval, resampled_bleu

HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "fails", "undecided", "not run"
SMALLEST = 0.5  # BLEU: less than this means nothing with one seed, and "about equal" in a claim

# Arms with the factors of their BLEU in a sum.
Weights = Mapping[str, float]


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


class Runs:
    """What the ledger holds of each arm, and its BLEU on resampled test sets.

    Args:
        entries: lines of a ledger. Of an arm with several settings the newest counts.
        form: "plain" for text with its own words, "tokenised" for words as they stand.
    """

    def __init__(self, entries: Sequence[dict], form: str = "plain"):
        newest = {entry["arm"]: entry["key"] for entry in entries}
        self._entries: dict[str, dict[int, dict]] = {}
        for entry in entries:
            if entry["key"] == newest[entry["arm"]]:
                self._entries.setdefault(entry["arm"], {})[entry["seed"]] = entry
        self.form = form
        self._scores: dict[tuple[str, int], np.ndarray | None] = {}

    @property
    def arms(self) -> list[str]:
        """Those with at least one run, the first one run first."""
        return list(self._entries)

    def __contains__(self, arm: str) -> bool:
        return arm in self._entries

    def seeds(self, arms: Sequence[str]) -> list[int]:
        """Those that all the arms were run with."""
        return sorted(set.intersection(*(set(self._entries.get(arm, {})) for arm in arms)))

    def entry(self, arm: str, seed: int) -> dict:
        """The line of one run."""
        return self._entries[arm][seed]

    def file(self, arm: str, name: str) -> Path | None:
        """A file in the run folder of the first seed, or None if it is not on this machine."""
        seeds = self.seeds([arm])
        path = ledger.ROOT / self.entry(arm, seeds[0])["run"] / name if seeds else None
        return path if path and path.exists() else None

    def values(self, arm: str, name: str) -> list[float]:
        """A figure of every seed that has it."""
        found = (entry["figures"].get(name) for entry in self._entries.get(arm, {}).values())
        return [value for value in found if value is not None]

    def figure(self, arm: str, name: str) -> float | None:
        """The mean of a figure over seeds, or None if there is none."""
        known = self.values(arm, name)
        return sum(known) / len(known) if known else None

    def bleu(self, arm: str) -> float | None:
        """On the whole test set, the mean over seeds."""
        return self.figure(arm, "bleu" if self.form == "plain" else "bleu_tokenised")

    def difference(self, weights: Weights) -> tuple[Interval, int] | None:
        """The weighted sum of the arms' BLEU with its interval, and the number of seeds.

        None if there is no seed of which all translations are on this machine.
        """
        sums = []
        for seed in self.seeds(list(weights)):
            scores = {arm: self._scores_of(arm, seed) for arm in weights}
            if all(found is not None for found in scores.values()):
                sums.append(sum(weight * scores[arm] for arm, weight in weights.items()))
        if not sums:
            return None
        whole, resampled = np.stack(sums)[:, 0], np.stack(sums)[:, 1:]
        means = np.take_along_axis(resampled, drawn_seeds(len(sums)), axis=0).mean(axis=0)
        return interval(float(whole.mean()), means), len(sums)

    def _scores_of(self, arm: str, seed: int) -> np.ndarray | None:
        """BLEU of the whole test set, then of its resamples; None without translations."""
        if (arm, seed) not in self._scores:
            self._scores[arm, seed] = self._score(self.entry(arm, seed))
        return self._scores[arm, seed]

    def _score(self, entry: dict) -> np.ndarray | None:
        found = comparison.translations(entry, self.form)
        if found is None:
            return None
        hypotheses, references = found
        lowercase = "case:lc" in entry["figures"].get("bleu_signature", "")
        metric = scoring.bleu_metric(self.form == "tokenised", lowercase)
        whole = metric.corpus_score(hypotheses, [references]).score
        return np.array([whole, *resampled_bleu(hypotheses, references, metric)])


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
    """An inequality about the weighted sum of some arms' BLEU: at least 0, or what `judge` says."""
    found = runs.difference(weights)
    if found is None:
        missing = [arm for arm in weights if arm not in runs]
        return Part(inequality, NOT_RUN, f"missing: {', '.join(missing) or 'translations'}")
    difference, seeds = found
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
