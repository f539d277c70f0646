"""Draw charts with matplotlib."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recipes.lab.figures import chart_labels, chart_rows, style
from recipes.lab.figures.charts import Chart, Panel, Rows, Series

ROOM = 0.2  # share of the width, for names to the right of the last points
ASIDE = 4  # points between curves with error bars at the same x
MARKS = {"curve": "o-", "points": "o", "line": "-"}


def save(chart: Chart, path: Path) -> list[Path]:
    """Save a chart as PATH.svg and PATH.png."""
    figure = draw(chart)
    files = [path.with_name(f"{path.name}.{ending}") for ending in ("svg", "png")]
    for file in files:
        style.save(figure, file)
    return files


def draw(chart: Chart) -> Any:
    """Draw a chart as a matplotlib figure."""
    style.quiet()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    matplotlib.rcParams.update(style.PARAMETERS)
    panels = [panel for panel in chart.panels if not panel.empty]
    width = style.WIDTH if len(panels) == 1 else min(style.PANEL * len(panels), style.WIDEST)
    title = style.wrapped(chart.title, width, style.TITLE, bold=True)
    note = style.wrapped(chart.caption, width, style.SMALL)
    height = 0.2 * (title.count("\n") + 1) + 0.14 * (note.count("\n") + 1) + _height(panels)
    figure = Figure(figsize=(width, height), layout="constrained", dpi=style.PIXELS)
    rows = [isinstance(panel, Rows) for panel in panels]
    share = chart.shared and (not any(rows) or len({tuple(p.lines) for p in panels}) == 1)
    FigureCanvasAgg(figure)
    places = figure.subplots(1, len(panels), sharey=share, squeeze=False)[0]
    for panel, axes, is_rows in zip(panels, places, rows, strict=True):
        (chart_rows.draw if is_rows else _draw_panel)(panel, axes)
    if share:
        for axes in places[1:]:
            axes.set_ylabel("")
    figure.suptitle(title, x=0.012, ha="left", fontsize=style.TITLE, fontweight="bold")
    if note:
        figure.supxlabel(note, x=0.012, ha="left", fontsize=style.SMALL, color=style.GREY)
    curves = [
        (p, axes) for p, axes, is_rows in zip(panels, places, rows, strict=True) if not is_rows
    ]
    figure.draw_without_rendering()  # computes positions
    for panel, axes in curves:
        chart_labels.label_ends(panel, axes)
    names: list[Any] = []
    for _ in range(2):  # labels and names take room from the axes, which moves the points
        figure.draw_without_rendering()
        for name in names:
            name.remove()
        names = [name for panel, axes in curves for name in chart_labels.name_points(panel, axes)]
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
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

    barred = [series for series in panel.series if series.style == "curve" and series.low]
    overlap = len({x for one in barred for x in one.x}) < sum(len(one.x) for one in barred)
    for series, colour in chart_labels.coloured(panel):
        bars = _draw_series(series, colour, axes)
        if series in barred and overlap:
            _move(bars, (barred.index(series) - (len(barred) - 1) / 2) * ASIDE, axes)
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    if panel.x_scale != "linear":  # setting it would remove the words of a categorical axis
        axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    if panel.ticks:
        axes.set_xticks(panel.ticks, [f"{tick:,}" for tick in panel.ticks])
        axes.xaxis.set_minor_locator(NullLocator())
    elif panel.x_scale == "linear" and all(isinstance(x, int) for s in panel.series for x in s.x):
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    if panel.y_scale == "log":
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        low, high = axes.get_ylim()
        if high > 1000 * low:  # minor ticks would be most of the file
            axes.yaxis.set_minor_locator(NullLocator())
        elif high < 50 * low:  # a power of ten alone would be too few ticks
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.grid(axis="y")
    if panel.zero:
        axes.axhline(0, color=style.INK, linewidth=1)
    axes.margins(x=0.06, y=0.12)
    if panel.from_zero:
        axes.set_xlim(left=0)
    if any(series.names for series in panel.series):
        left, right = axes.get_xlim()
        axes.set_xlim(right=right + ROOM * (right - left))


def _draw_series(series: Series, colour: str, axes: Any) -> Sequence[Any]:
    """Draw a series and return its artists."""
    if series.style == "level":
        if series.low:
            axes.axhspan(series.low[0], series.high[0], color=colour, alpha=0.1, linewidth=0)
        return [axes.axhline(series.y[0], linestyle="--", color=colour, linewidth=1.2)]
    marks = MARKS[series.style]
    bars = None
    if series.low:
        below = [max(y - low, 0) for y, low in zip(series.y, series.low, strict=True)]
        above = [max(high - y, 0) for y, high in zip(series.y, series.high, strict=True)]
        bars = [below, above]
    # Hollow if there is no interval.
    face = "white" if series.style == "points" and not bars else colour
    drawn = axes.errorbar(series.x, series.y, yerr=bars, fmt=marks, capsize=0, color=colour,
                          elinewidth=1.2, markerfacecolor=face)  # fmt: skip
    return drawn.get_children()


def _move(artists: Sequence[Any], points: float, axes: Any) -> None:
    """Move artists to the right: bars of several curves at the same x hide each other."""
    from matplotlib.transforms import ScaledTranslation

    aside = ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)
    for artist in artists:
        artist.set_transform(artist.get_transform() + aside)
