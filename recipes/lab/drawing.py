"""Draws charts with matplotlib."""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from recipes.lab import style
from recipes.lab.figures import Chart, Panel, Row, Rows, Series

GAP = 3  # pixels between labels
ROOM = 0.2  # of the width, for names right of the last points
LEGEND = 80  # letters that fit into one line of a legend
MARKS = {"curve": "o-", "points": "o", "line": "-"}
# Where a name may stand beside its point, in points: the first place that is free.
PLACES = tuple(
    (x, y, side)
    for distance in (6, 14, 24)
    for x, y, side in (
        (distance, 0, "left"), (-distance, 0, "right"), (distance, distance, "left"),
        (distance, -distance, "left"), (-distance, distance, "right"),
        (-distance, -distance, "right"), (0, distance + 3, "center"), (0, -distance - 3, "center"),
    )
)  # fmt: skip


def save(chart: Chart, path: Path) -> list[Path]:
    """PATH.svg and PATH.png of a chart."""
    figure = draw(chart)
    files = [path.with_name(f"{path.name}.{ending}") for ending in ("svg", "png")]
    figure.savefig(files[0], metadata={"Date": None, "Creator": None})
    figure.savefig(files[1], dpi=style.PIXELS, metadata={"Software": None})
    return files


def draw(chart: Chart) -> Any:
    """A chart as a figure of matplotlib."""
    style.quiet()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    matplotlib.rcParams.update(style.PARAMETERS)
    panels = [panel for panel in chart.panels if not panel.empty]
    width = style.WIDTH if len(panels) == 1 else style.PANEL * len(panels)
    title = style.wrapped(chart.title, width, style.TITLE, bold=True)
    note = style.wrapped(chart.note, width, style.SMALL)
    height = 0.2 * (title.count("\n") + 1) + 0.14 * (note.count("\n") + 1) + _height(panels)
    figure = Figure(figsize=(width, height), layout="constrained", dpi=style.PIXELS)
    rows = [isinstance(panel, Rows) for panel in panels]
    share = chart.shared and (not any(rows) or len({tuple(p.lines) for p in panels}) == 1)
    FigureCanvasAgg(figure)
    places = figure.subplots(1, len(panels), sharey=share, squeeze=False)[0]
    for panel, axes, is_rows in zip(panels, places, rows, strict=True):
        (_draw_rows if is_rows else _draw_panel)(panel, axes)
    if share:
        for axes in places[1:]:
            axes.set_ylabel("")
    figure.suptitle(title, x=0.012, ha="left", fontsize=style.TITLE, fontweight="bold")
    if note:
        figure.supxlabel(note, x=0.012, ha="left", fontsize=style.SMALL, color=style.GREY)
    figure.draw_without_rendering()  # places are known from here on
    for panel, axes, is_rows in zip(panels, places, rows, strict=True):
        if not is_rows:
            _label_ends(panel, axes)
            _name_points(panel, axes)
    return figure


def _height(panels: Sequence[Panel | Rows]) -> float:
    lines = []
    for panel in panels:
        if isinstance(panel, Rows):
            dots = len({row.series for row in panel.rows})
            lines.append(len(panel.lines) * (0.5 + 0.5 * dots))
    rows = 0.75 + style.ROW * max(lines, default=0)
    return rows if len(lines) == len(panels) else max(rows, style.HEIGHT)


# Curves.


def _draw_panel(panel: Panel, axes: Any) -> None:
    from matplotlib.ticker import NullFormatter, NullLocator

    for series, colour in _coloured(panel):
        _draw_series(series, colour, axes)
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    if panel.x_scale != "linear":  # which would take the words off an axis of words
        axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    if panel.ticks:
        axes.set_xticks(panel.ticks, [f"{tick:,}" for tick in panel.ticks])
        axes.xaxis.set_minor_locator(NullLocator())
    if panel.y_scale == "log":
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y")
    if panel.zero:
        axes.axhline(0, color=style.INK, linewidth=1)
    axes.margins(x=0.06, y=0.12)
    if panel.from_zero:
        axes.set_xlim(left=0)
    if any(series.names for series in panel.series):
        left, right = axes.get_xlim()
        axes.set_xlim(right=right + ROOM * (right - left))


def _coloured(panel: Panel) -> list[tuple[Series, str]]:
    groups = list(dict.fromkeys(series.group or series.label for series in panel.series))
    return [(s, style.colour(groups.index(s.group or s.label))) for s in panel.series if len(s.y)]


def _draw_series(series: Series, colour: str, axes: Any) -> None:
    if series.style == "level":
        if series.low:
            axes.axhspan(series.low[0], series.high[0], color=colour, alpha=0.1, linewidth=0)
        axes.axhline(series.y[0], linestyle="--", color=colour, linewidth=1.2)
        return
    marks = MARKS[series.style]
    bars = None
    if series.low:
        below = [max(y - low, 0) for y, low in zip(series.y, series.low, strict=True)]
        above = [max(high - y, 0) for y, high in zip(series.y, series.high, strict=True)]
        bars = [below, above]
    # Hollow without an interval.
    face = "white" if series.style == "points" and not bars else colour
    axes.errorbar(series.x, series.y, yerr=bars, fmt=marks, capsize=0, color=colour,
                  elinewidth=1.2, markerfacecolor=face)  # fmt: skip


def _label_ends(panel: Panel, axes: Any) -> None:
    """Labels right of the axes, at the heights of the curves' ends or as near as they fit."""
    wanted = []
    for series, colour in _coloured(panel):
        if series.label and not series.names:
            height = axes.transData.transform((axes.get_xlim()[0], series.y[-1]))[1]
            wanted.append((height, series.label, colour))
    figure = axes.figure
    size = style.SMALL * figure.dpi / 72 * 1.25 + GAP
    box = axes.get_window_extent()
    heights = spread([height for height, *_ in wanted], size, box.y0, box.y1)
    for height, (_, label, colour) in zip(heights, wanted, strict=True):
        place = axes.transAxes.inverted().transform((0, height))[1]
        axes.text(1.02, place, label, transform=axes.transAxes, color=colour, va="center",
                  fontsize=style.SMALL)  # fmt: skip


def spread(wanted: Sequence[float], size: float, low: float, high: float) -> list[float]:
    """Middles of labels so high, moved apart as little as keeps them from each other.

    Args:
        low, high: where labels should stay, if there is room.
    """
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    found = [wanted[number] for number in order]
    for _ in range(100 * len(found)):
        for one, other in pairwise(range(len(found))):
            if (lacking := size - (found[other] - found[one])) > 0:
                found[one] -= lacking / 2
                found[other] += lacking / 2
        if found and len(found) * size <= high - low:
            found[0], found[-1] = max(found[0], low), min(found[-1], high)
        if all(b - a >= size - 1e-6 for a, b in pairwise(found)):
            break
    places = [0.0] * len(wanted)
    for number, place in zip(order, found, strict=True):
        places[number] = place
    return places


def _name_points(panel: Panel, axes: Any) -> None:
    """The name of each point, where it covers neither another one nor a point."""
    if not any(series.names for series in panel.series):
        return
    figure = axes.figure
    renderer = figure.canvas.get_renderer()
    frame = axes.get_window_extent()
    taken = []
    if panel.zero:
        left, right = axes.get_xlim()
        taken.append(_around(axes.transData.transform([(left, 0), (right, 0)]), 1))
    for series, _ in _coloured(panel):
        if series.style == "level":
            continue
        ends = list(zip(series.low, series.high, strict=True)) or [(y, y) for y in series.y]
        for x, (low, high) in zip(axes.convert_xunits(series.x), ends, strict=True):
            taken.append(_around(axes.transData.transform([(x, low), (x, high)]), 4))
    for series, colour in _coloured(panel):
        for name, x, y in zip(series.names, series.x, series.y, strict=False):
            texts = []
            for dx, dy, side in PLACES:
                text = axes.annotate(
                    name, (x, y), (dx, dy), textcoords="offset points", ha=side, va="center",
                    fontsize=style.SMALL, color=colour,
                )  # fmt: skip
                texts.append(text)
                box = text.get_window_extent(renderer).padded(1)
                inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 + 60 and frame.y0 <= box.y0
                if inside and box.y1 <= frame.y1 and not any(box.overlaps(o) for o in taken):
                    break
            for text in texts[:-1]:
                text.remove()
            taken.append(texts[-1].get_window_extent(renderer))


def _around(points: Any, margin: float) -> Any:
    from matplotlib.transforms import Bbox

    return Bbox([points.min(axis=0) - margin, points.max(axis=0) + margin])


# Rows.


def _draw_rows(panel: Rows, axes: Any) -> None:
    lines = panel.lines
    series = list(dict.fromkeys(row.series for row in panel.rows))
    if panel.zero:
        axes.axvline(0, color=style.INK, linewidth=1)
    for row in panel.rows:
        _draw_row(row, lines.index(row.label), series, axes)
    axes.set_yticks(range(len(lines)), lines)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set(title=panel.title, xlabel=panel.x)
    axes.margins(x=0.08)
    if len(series) > 1:
        columns = 2 if sum(map(len, series)) > LEGEND else len(series)
        legend = axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns,
                             frameon=False, fontsize=style.SMALL, handletextpad=0.2,
                             borderaxespad=0)  # fmt: skip
        legend.set_in_layout(True)
    if panel.form:
        _write_values(panel, axes)


def _draw_row(row: Row, line: int, series: Sequence[str], axes: Any) -> None:
    number = series.index(row.series)
    offset = (number - (len(series) - 1) / 2) * min(0.26, 0.66 / len(series))
    colour = style.colour(number)
    y = line + offset
    if not math.isnan(row.low):
        axes.plot([row.low, row.high], [y, y], color=colour, linewidth=2, solid_capstyle="butt")
    # Hollow without an interval.
    face = "white" if math.isnan(row.low) else colour
    known = axes.get_legend_handles_labels()[1]
    label = row.series if row.series and row.series not in known else None
    axes.plot([row.value], [y], "o", color=colour, markerfacecolor=face, label=label)


def _write_values(panel: Rows, axes: Any) -> None:
    """At the right of each line."""
    for line, label in enumerate(panel.lines):
        values = [f"{row.value:{panel.form}}" for row in panel.rows if row.label == label]
        axes.annotate("  ".join(values), (1.02, line), xycoords=("axes fraction", "data"),
                      va="center", fontsize=style.SMALL, color=style.INK)  # fmt: skip
