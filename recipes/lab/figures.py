"""Figures as data: what a chart says and shows; drawing.py draws them, in the style of style.py."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recipes.lab.resampling import Estimate

Interval = Sequence[float]


@dataclass(frozen=True)
class Series:
    """What has one label, in one colour.

    Attributes:
        label: in plain words, written beside it.
        x: numbers, or words that stand side by side.
        low, high: ends of the bars around ``y``; none where they are not known.
        style: "curve", "points" with their ``names`` beside them, "line" without marks, or "level":
            a horizontal line at the one ``y``.
        group: series of a group share their colour.
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
        ticks: of x, written as they are.
        zero: whether differences are shown, so that the line of none must be seen.
        from_zero: whether x begins at 0.
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
    """One line of a panel of rows: a dot, with a bar if the interval is known.

    Attributes:
        label: in plain words; rows of the same label share a line.
        series: what the dot is, if a line has several; named in the legend.
    """

    label: str
    value: float
    low: float = math.nan
    high: float = math.nan
    series: str = ""

    @classmethod
    def of(cls, label: str, found: Estimate, series: str = "", scale: float = 1) -> "Row":
        """From an estimate, in units of ``1 / scale``."""
        low, high = sorted((scale * found.low, scale * found.high))
        return cls(label, scale * found.value, low, high, series)


@dataclass(frozen=True)
class Rows:
    """Labels on the left, dots and bars over one axis.

    Attributes:
        zero: whether the axis has the line of no difference.
        form: of the numbers written at the right; none if empty.
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
        """The labels, each once."""
        return list(dict.fromkeys(row.label for row in self.rows))


@dataclass(frozen=True)
class Chart:
    """A figure.

    Attributes:
        title: what was found, made of the numbers that are shown.
        panels: side by side.
        note: what the bars are, how many seeds, where the numbers come from.
        shared: whether the panels have one y axis.
    """

    title: str
    panels: Sequence[Panel | Rows]
    note: str = ""
    shared: bool = True

    @property
    def empty(self) -> bool:
        return all(panel.empty for panel in self.panels)


Charts = Mapping[str, Chart]


def draw(charts: Charts, folder: Path) -> list[Path]:
    """Write every chart that has something to show as NAME.svg and NAME.png.

    Of a chart that has nothing to show any more, the files are removed.

    Raises:
        ImportError: without matplotlib, which the extra ``report`` installs.
    """
    from recipes.lab import drawing

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
