"""Panels of rows: labels on the left, dots and bars, numbers on the right."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from recipes.lab.figures import style
from recipes.lab.figures.charts import Row, Rows

LEGEND = 80  # characters per line of a legend
LABEL = 48  # of a label


def draw(panel: Rows, axes: Any) -> None:
    """Draw a panel."""
    lines = panel.lines
    series = list(dict.fromkeys(row.series for row in panel.rows))
    if panel.zero:
        axes.axvline(0, color=style.INK, linewidth=1)
    for row in panel.rows:
        _draw_row(row, lines.index(row.label), series, axes)
    axes.set_yticks(range(len(lines)), [textwrap.fill(line, LABEL) for line in lines])
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
    # Hollow if there is no interval, or one of too few seeds.
    face = colour if row.decided and not math.isnan(row.low) else "white"
    known = axes.get_legend_handles_labels()[1]
    label = row.series if row.series and row.series not in known else None
    axes.plot([row.value], [y], "o", color=colour, markerfacecolor=face, label=label)


def _write_values(panel: Rows, axes: Any) -> None:
    """Write the values to the right of each line."""
    for line, label in enumerate(panel.lines):
        values = [f"{row.value:{panel.form}}" for row in panel.rows if row.label == label]
        axes.annotate("  ".join(values), (1.02, line), xycoords=("axes fraction", "data"),
                      va="center", fontsize=style.SMALL, color=style.INK)  # fmt: skip
