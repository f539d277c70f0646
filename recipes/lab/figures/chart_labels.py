"""Placement of labels beside curves and points without overlap."""

import itertools
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from recipes.lab.figures import style
from recipes.lab.figures.charts import Panel, Series

GAP = 3  # pixels between labels
FAR = 14  # points from which a line leads from a name to its point
LEADER = {"arrowstyle": "-", "linewidth": 0.7, "shrinkA": 1, "shrinkB": 4}
# Offsets of a name from its point, in points; the first free one is used.
PLACES = tuple(
    (x, y, side)
    for distance in (6, 14, 24, 40, 60)
    for x, y, side in (
        (distance, 0, "left"), (-distance, 0, "right"), (distance, distance, "left"),
        (distance, -distance, "left"), (-distance, distance, "right"),
        (-distance, -distance, "right"), (0, distance + 3, "center"), (0, -distance - 3, "center"),
    )
)  # fmt: skip


def coloured(panel: Panel) -> list[tuple[Series, str]]:
    """The nonempty series, each with its colour."""
    groups = list(dict.fromkeys(series.group or series.label for series in panel.series))
    return [(s, style.colour(groups.index(s.group or s.label))) for s in panel.series if len(s.y)]


def label_ends(panel: Panel, axes: Any) -> None:
    """Label curves to the right of the axes, as close to their ends as possible."""
    wanted = []
    for series, colour in coloured(panel):
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
    """Centers of labels, moved apart as little as necessary.

    Args:
        wanted: preferred centers.
        size: height of a label.
        low, high: limits, if there is room.
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


def name_points(panel: Panel, axes: Any) -> list[Any]:
    """Name each point, in one line or more, without covering other names or points if possible."""
    from matplotlib.text import Text

    if not any(series.names for series in panel.series):
        return []
    figure = axes.figure
    renderer = figure.canvas.get_renderer()
    frame = axes.get_window_extent()
    names, taken = [], []
    if panel.zero:
        left, right = axes.get_xlim()
        taken.append(_around(axes.transData.transform([(left, 0), (right, 0)]), 1))
    for series, _ in coloured(panel):
        if series.style == "level":
            continue
        ends = list(zip(series.low, series.high, strict=True)) or [(y, y) for y in series.y]
        for x, (low, high) in zip(axes.convert_xunits(series.x), ends, strict=True):
            taken.append(_around(axes.transData.transform([(x, low), (x, high)]), 4))
    for series, colour in coloured(panel):
        for name, x, y in zip(series.names, series.x, series.y, strict=False):
            texts: list[tuple[float, Any]] = []
            two_lines = textwrap.fill(name, max(len(name) // 2 + 4, 8))
            for words, (dx, dy, side) in itertools.product((name, two_lines), PLACES):
                far = max(abs(dx), abs(dy)) > FAR
                text = axes.annotate(
                    words, (x, y), (dx, dy), textcoords="offset points", ha=side, va="center",
                    fontsize=style.SMALL, color=colour,
                    arrowprops=LEADER | {"color": colour} if far else None,
                )  # fmt: skip
                text.update_positions(renderer)
                box = Text.get_window_extent(text, renderer).padded(1)  # without the line
                inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 + 60
                inside = inside and frame.y0 <= box.y0 and box.y1 <= frame.y1
                covered = sum(_common_area(box, other) for other in taken)
                texts.append((covered if inside else float("inf"), text))
                if not texts[-1][0]:
                    break
            _, best = min(texts, key=lambda found: found[0])
            for _, text in texts:
                if text is not best:
                    text.remove()
            names.append(best)
            taken.append(Text.get_window_extent(best, renderer))
    return names


def _common_area(one: Any, other: Any) -> float:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(width, 0.0) * max(height, 0.0)


def _around(points: Any, margin: float) -> Any:
    from matplotlib.transforms import Bbox

    return Bbox([points.min(axis=0) - margin, points.max(axis=0) + margin])
