"""Charts as data; drawing.py draws them in the style of style.py."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recipes.lab.scores.resampling import SEEDS_NEEDED, Estimate

Interval = Sequence[float]


@dataclass(frozen=True)
class Series:
    """A series with one label and color.

    Attributes:
        label: in plain words, written beside the series.
        x: numbers, or categories.
        low, high: ends of the error bars of ``y``; empty if unknown.
        style: "curve", "points" labelled with ``names``, "line" without markers, or "level": a
            horizontal line at the only ``y``.
        group: series of a group have the same color.
    """

    label: str
    x: Sequence
    y: Sequence[float]
    low: Interval = ()
    high: Interval = ()
    style: str = "curve"
    names: Sequence[str] = ()
    group: str = ""


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        ticks: tick labels of x.
        zero: whether to draw a line at 0, for differences.
        from_zero: whether x starts at 0.
    """

    x: str
    y: str
    series: Sequence[Series]
    title: str = ""
    x_scale: str = "linear"
    y_scale: str = "linear"
    ticks: Sequence[float] = ()
    zero: bool = False
    from_zero: bool = False

    @property
    def empty(self) -> bool:
        return not any(len(series.y) for series in self.series)


@dataclass(frozen=True)
class Row:
    """A dot in a panel of rows, with an error bar if the interval is known.

    Attributes:
        label: in plain words; rows with the same label share a line.
        series: name of the dot in the legend, if a line has several.
        decided: whether the interval is over enough seeds for a verdict; hollow otherwise.
    """

    label: str
    value: float
    low: float = math.nan
    high: float = math.nan
    series: str = ""
    decided: bool = True

    @classmethod
    def of(cls, label: str, found: Estimate, series: str = "") -> "Row":
        """From an estimate."""
        return cls(label, found.value, found.low, found.high, series, found.enough_seeds)


@dataclass(frozen=True)
class Rows:
    """A panel of rows: labels on the left, dots and bars.

    Attributes:
        zero: whether to draw a line at 0, for differences.
        form: format of the numbers on the right; none if empty.
    """

    x: str
    rows: Sequence[Row]
    title: str = ""
    zero: bool = False
    form: str = ".1f"

    @property
    def empty(self) -> bool:
        return not self.rows

    @property
    def lines(self) -> list[str]:
        """The distinct labels."""
        return list(dict.fromkeys(row.label for row in self.rows))


@dataclass(frozen=True)
class Chart:
    """A figure.

    Attributes:
        title: the result, computed from the numbers shown.
        panels: side by side.
        note: meaning of the bars, number of seeds, origin of the numbers.
        shared: whether the panels share the y axis.
    """

    title: str
    panels: Sequence[Panel | Rows]
    note: str = ""
    shared: bool = True

    @property
    def caption(self) -> str:
        """The note, and why dots are hollow."""
        rows = [row for panel in self.panels if isinstance(panel, Rows) for row in panel.rows]
        reasons = {
            f"fewer than {SEEDS_NEEDED} seeds": any(not row.decided for row in rows),
            "no interval over test sentences": any(math.isnan(row.low) for row in rows),
        }
        found = " or ".join(reason for reason, applies in reasons.items() if applies)
        return f"{self.note} Hollow: {found}." if found else self.note

    @property
    def empty(self) -> bool:
        return all(panel.empty for panel in self.panels)


Charts = Mapping[str, Chart]


def draw(charts: Charts, folder: Path) -> list[Path]:
    """Write every nonempty chart as NAME.svg and NAME.png, and remove files of empty ones.

    Raises:
        ImportError: without matplotlib (extra ``report``).
    """
    from recipes.lab.figures import drawing

    written = []
    for name, chart in charts.items():
        if chart.empty:
            for ending in ("svg", "png"):
                (folder / f"{name}.{ending}").unlink(missing_ok=True)
        else:
            written += drawing.save(chart, folder / name)
    return written


def seeds_in_words(seeds: int) -> str:
    """``1 seed``, ``3 seeds``."""
    return f"{seeds} seed" if seeds == 1 else f"{seeds} seeds"
