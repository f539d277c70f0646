"""How figures are drawn, in one style; what is drawn, each recipe says as data."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 6, 3.6  # inches, of one panel


@dataclass(frozen=True)
class Series:
    """What has one entry in the legend.

    Attributes:
        x: numbers, or words that stand side by side.
        low, high: ends of the bars around ``y``.
        style: "curve", "points" with their ``names`` beside them, "line" without marks, or "level":
            a horizontal line at the one ``y``.
        group: series of a group share their colour.
    """

    label: str
    x: Sequence
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    style: str = "curve"
    names: Sequence[str] = ()
    group: str = ""


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    x: str
    y: str
    series: Sequence[Series]
    title: str = ""
    x_scale: str = "linear"
    y_scale: str = "linear"
    ticks: Sequence[float] = ()


Chart = Sequence[Panel]  # side by side


def draw(charts: dict[str, Chart], folder: Path) -> list[Path]:
    """Write every chart that has something to show, by the name of its file.

    Raises:
        ImportError: without matplotlib, which the extra ``report`` installs.
    """
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # fairseq makes every library talk
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "recipes"  # the same figure is the same file
    written = []
    for name, panels in charts.items():
        if not any(series.y for panel in panels for series in panel.series):
            continue
        size = (WIDTH if len(panels) == 1 else 4 * len(panels), HEIGHT)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for panel, place in zip(panels, axes, strict=True):
            _draw_panel(panel, place)
        axes[0].set_ylabel(panels[0].y)
        metadata = {"Date": None} if name.endswith(".svg") else {}
        figure.savefig(folder / name, dpi=120, metadata=metadata)
        written.append(folder / name)
    return written


def _draw_panel(panel: Panel, axes: Any) -> None:
    groups = list(dict.fromkeys(series.group or series.label for series in panel.series))
    for series in panel.series:
        colour = f"C{groups.index(series.group or series.label) % 10}"
        _draw_series(series, colour, axes)
    axes.set(title=panel.title, xlabel=panel.x, xscale=panel.x_scale, yscale=panel.y_scale)
    if panel.ticks:
        axes.set_xticks(panel.ticks, [str(tick) for tick in panel.ticks])
        axes.minorticks_off()
    axes.grid(alpha=0.3)
    if any(series.label for series in panel.series):
        axes.legend(fontsize="small")


def _draw_series(series: Series, colour: str, axes: Any) -> None:
    label = series.label or None
    if series.style == "level":
        line = ":" if "nmt" in series.label or not series.group else "--"
        axes.axhline(series.y[0], linestyle=line, color=colour, label=label)
        return
    marks = {"curve": "o-", "points": "o", "line": "-"}[series.style]
    if series.low:
        below = [y - low for y, low in zip(series.y, series.low, strict=True)]
        above = [high - y for y, high in zip(series.y, series.high, strict=True)]
        bars = [below, above]
        axes.errorbar(
            series.x, series.y, yerr=bars, fmt=marks, capsize=3, color=colour, label=label
        )
    else:
        axes.plot(series.x, series.y, marks, color=colour, label=label)
    for name, x, y in zip(series.names, series.x, series.y, strict=False):
        axes.annotate(name, (x, y), xytext=(4, 4), textcoords="offset points")
