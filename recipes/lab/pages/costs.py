"""A table of what methods cost: size, and speed and memory of training, measured in turns."""

from collections.abc import Callable, Mapping
from pathlib import Path

from recipes.lab.markdown import markdown_table
from recipes.lab.runs import Runs
from recipes.lab.scores.scoring import read_json

Columns = Mapping[str, Callable[[str], str]]  # the cell of an arm, by heading
Speeds = Mapping[str, Mapping]  # a row of measurements, by arm


def measured(speed: Path) -> Speeds:
    """The rows of a file of measurements (`recipes.lab speed`) by arm; empty without a file."""
    return {row["arm"]: row for row in read_json(speed).get("rows", [])}


def rounds(speed: Path) -> dict[str, list[float]]:
    """The speed of each arm in every round; empty without a file."""
    return {arm: row["rounds"] for arm, row in measured(speed).items()}


def table(
    names: Mapping[str, str], speeds: Speeds, before: Columns, heading: str = "model"
) -> list[str]:
    """A row for every arm whose speed was measured, in Markdown; empty if there is none.

    Args:
        names: the arms in words.
        speeds: of :func:`measured`; the first arm has speed 1.
        before: columns before those of speed and memory.
        heading: of the names.
    """
    if not any(arm in speeds for arm in names):
        return []
    first = next(iter(speeds))
    columns = {
        **before,
        f"training speed ({names.get(first, first)}: 1)": lambda arm: in_turns(speeds[arm]),
        "peak memory": lambda arm: f"{speeds[arm]['peak_rss_mb']:,.0f} MB",
    }
    rows = [
        [words, *(cell(arm) for cell in columns.values())]
        for arm, words in names.items()
        if arm in speeds
    ]
    return markdown_table([heading, *columns], rows)


def in_turns(row: Mapping) -> str:
    """The median of the ratios by round, and their range."""
    return f"{row['ratio_to_first']:.2f} ({min(row['ratios']):.2f} to {max(row['ratios']):.2f})"


def parameters(runs: Runs, arm: str) -> str:
    """Stored parameters in millions, or ``-``."""
    number = runs.figure(arm, "parameters")
    return "-" if number is None else f"{number / 1e6:.1f} million"
