"""Validation perplexity of two arms after equal time of training.

A run has, at any time, the lowest perplexity of the epochs that it has finished.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from recipes.lab.figures import training_curves
from recipes.lab.markdown import markdown_table
from recipes.lab.runs import Runs

COLUMNS = (
    "method", "compared with", "seed", "behind for good from minute", "shorter run ends at minute",
    "perplexity of the method", "of the other", "difference",
)  # fmt: skip
NOTE = (
    "Validation perplexity at equal time of training, the lowest of the epochs finished by then."
    " Minutes are of training steps, without validation; the runs of a pair were not interleaved,"
    " so they compare only roughly. Pairs of different machines, pairs with more than 15 minutes"
    " between them, and interrupted runs are left out."
)
BREAK = timedelta(minutes=15)  # between two runs that compare


class Race(NamedTuple):
    """Two runs of one seed.

    Attributes:
        behind_from: minute from which the second run has the lower perplexity until the end;
            infinity if it has not at the end.
        end: minutes of the shorter run.
        perplexities: of both after that time.
    """

    behind_from: float
    end: float
    perplexities: tuple[float, float]


def race(one: Sequence[dict], other: Sequence[dict]) -> Race:
    """Compare the epochs of two runs (`training_curves.of`)."""
    end = min(one[-1]["seconds"], other[-1]["seconds"])
    times = sorted({e["seconds"] for e in (*one, *other) if e["seconds"] <= end})
    # Times at which the other is ahead, from the end backwards.
    behind_from = math.inf
    for seconds in reversed(times):
        if best(other, seconds) >= best(one, seconds):
            break
        behind_from = seconds / 60
    return Race(behind_from, end / 60, (best(one, end), best(other, end)))


def best(epochs: Sequence[dict], seconds: float) -> float:
    """The lowest perplexity of the epochs finished by then; infinity if there is none."""
    done = (epoch["valid_ppl"] for epoch in epochs if epoch["seconds"] <= seconds)
    return min(done, default=math.inf)


def races(runs: Runs, one: str, other: str) -> dict[int, Race]:
    """Two arms by seed.

    Only where both ran on one kind of machine, at one time or in succession, without an
    interruption, and their curves are known.
    """
    view = runs.alike([one, other])
    found = {}
    for seed in view.seeds([one, other]) if view else ():
        entries = [view.entry(arm, seed) for arm in (one, other)]
        first, second = (training_curves.of(entry) for entry in entries)
        alike = entries[0].get("machine") == entries[1].get("machine")
        once = all(entry["figures"].get("attempts", 1) == 1 for entry in entries)
        if alike and once and in_succession(*entries) and first and second:
            found[seed] = race(first, second)
    return found


def in_succession(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two lines of the ledger are so close in time that the machine was as busy."""
    if "date" not in one or "date" not in other:
        return False
    first, second = sorted((one, other), key=_end)
    begun = _end(second) - timedelta(seconds=second["figures"].get("train_wall_seconds", 0))
    return begun - _end(first) <= BREAK


def _end(entry: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(entry["date"])


def section(runs: Runs, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """A row for each pair of arms and seed, in Markdown; empty if there is none."""
    rows = []
    for one, other in pairs:
        for seed, found in races(runs, one, other).items():
            since = "not" if math.isinf(found.behind_from) else f"{found.behind_from:.1f}"
            first, second = found.perplexities
            rows.append((one, other, str(seed), since, f"{found.end:.1f}", f"{first:.2f}",
                         f"{second:.2f}", f"{100 * (first / second - 1):+.1f}%"))  # fmt: skip
    if not rows:
        return []
    return ["## After equal time", "", NOTE, "", *markdown_table(COLUMNS, rows)]
