"""Figures keep their labels apart and inside, show the line of no difference, and are small."""

import itertools
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="figures need the extra 'report'")

from recipes.lab.figures import chart_labels, charts, drawing, style
from recipes.lab.figures.charts import Chart, Panel, Row, Rows, Series

ROOT = Path(__file__).resolve().parents[2]
TITLE = (
    "A finding that takes a whole sentence, with its number of 12.3 points of BLEU, and so wraps"
)
NOTE = "Bars: 95% of 1,000 resamples of the test set; 1 seed. " * 3
CLOSE = [Series(f"system number {n}", (1, 2, 3), (20 + n / 50, 25, 30 + n / 100)) for n in range(6)]
NAMED = Series(
    "", [0.1, 0.1001, 0.1002, 0.3], [5, 5.01, 5.02, 4], [4, 4, 4, 3], [6, 6, 6, 5], "points",
    ["German, 5 thousand", "French, 5 thousand", "English, 5 thousand", "at the right edge"],
)  # fmt: skip
LINES = [Row(f"a system with a long name, {n}", n, n - 1.5, n + 0.5) for n in range(12)]
TWICE = [
    Row(row.label, row.value + s, series=f"length penalty {s}") for row in LINES for s in (0, 1)
]
# BLEU over the minutes of training, as in results/jean2015: bars stand close to each other.
BARS = [
    Series("", [x], [y], [y - 1.5], [y + 1.5], "points", [name])
    for x, y, name in (
        (20, 34.3, "2,000 samples by rank"), (29, 35.8, "short list"), (38, 34.4, "full softmax"),
        (38.7, 32.4, "partitions"), (73, 34.7, "corrected partitions"),
    )
]  # fmt: skip
CHARTS = {
    "curves": Chart(TITLE, [Panel("updates", "BLEU", CLOSE)], NOTE),
    "logarithmic": Chart(TITLE, [Panel("K", "BLEU", CLOSE, "", "log", "log", (1, 2, 3))], NOTE),
    "names": Chart(TITLE, [Panel("ratio", "gain", [NAMED], zero=True)], NOTE),
    "bars": Chart(
        TITLE,
        [Panel("minutes", "BLEU", BARS, from_zero=True), Panel("updates", "perplexity", CLOSE)],
        NOTE,
        shared=False,
    ),
    "three": Chart(TITLE, [Panel("x", "y", CLOSE[:3], f"panel {n}") for n in range(3)], NOTE),
    "rows": Chart(TITLE, [Rows("difference in BLEU", LINES, zero=True, form="+.1f")], NOTE),
    "twice": Chart(TITLE, [Rows("BLEU", TWICE)], NOTE),
    "mixed": Chart(TITLE, [Rows("BLEU", LINES[:4]), Panel("x", "y", CLOSE[:2])], shared=False),
}  # fmt: skip


def texts_of(figure, monkeypatch):
    """Every text that is drawn, with its box in pixels."""
    from matplotlib.text import Text

    figure.canvas.draw()  # places are final
    drawn, original = {}, Text.draw

    def draw(text, renderer):
        original(text, renderer)
        if text.get_text().strip() and text.get_visible():
            drawn[text] = Text.get_window_extent(text, renderer)  # without a line

    monkeypatch.setattr(Text, "draw", draw)
    figure.canvas.draw()
    return [(text.get_text(), box) for text, box in drawn.items()]


@pytest.mark.parametrize("name", CHARTS)
def test_no_text_covers_another_or_leaves_the_frame(name, monkeypatch):
    figure = drawing.draw(CHARTS[name])
    texts = texts_of(figure, monkeypatch)
    assert len(texts) > 8
    frame = figure.bbox
    for text, box in texts:
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1, text
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1, text
    for (one, box), (other, other_box) in itertools.combinations(texts, 2):
        width = min(box.x1, other_box.x1) - max(box.x0, other_box.x0)
        height = min(box.y1, other_box.y1) - max(box.y0, other_box.y0)
        assert min(width, height) <= 1, (one, other)


def test_no_name_lies_on_a_bar(monkeypatch):
    figure = drawing.draw(CHARTS["bars"])
    boxes = dict(texts_of(figure, monkeypatch))
    axes = figure.axes[0]
    for series in BARS:
        box = next(b for text, b in boxes.items() if text.replace("\n", " ") == series.names[0])
        assert box.x0 >= axes.get_window_extent().x0
        for bar in BARS:
            (x, low), (_, high) = axes.transData.transform(
                [(bar.x[0], bar.low[0]), (bar.x[0], bar.high[0])]
            )
            beside = not box.x0 - 1 < x < box.x1 + 1
            assert beside or box.y0 > high or box.y1 < low, (series.names, bar.names)


def test_every_label_and_every_name_is_written_once(tmp_path):
    drawing.save(CHARTS["names"], tmp_path / "names")
    drawing.save(CHARTS["curves"], tmp_path / "curves")
    names, curves = ((tmp_path / f"{name}.svg").read_text() for name in ("names", "curves"))
    assert [names.count(f">{name}<") for name in NAMED.names] == [1] * 4
    assert [curves.count(f">{series.label}<") for series in CLOSE] == [1] * 6


@pytest.mark.parametrize(("alike", "apart"), [(True, drawing.ASIDE), (False, 0)])
def test_error_bars_of_curves_do_not_cover_each_other(alike, apart):
    y, low, high = (5, 6, 7), (4, 5, 6), (6, 7, 8)
    xs = [(1, 2, 3), (1, 2, 3)] if alike else [(1, 2, 3), (4, 5, 6)]
    panel = Panel("x", "y", [Series(f"{n}", x, y, low, high) for n, x in enumerate(xs)])
    figure = drawing.draw(Chart("", [panel]))
    (axes,) = figure.axes
    for bars, marks, x in zip(axes.collections, axes.lines, xs, strict=True):
        bar = bars.get_transform().transform(bars.get_segments()[0])[0, 0]
        mark = marks.get_transform().transform((x[0], y[0]))[0]
        assert bar == pytest.approx(mark, abs=1e-6)
        there = axes.transData.transform((x[0], 0))[0]
        assert abs(bar - there) * 72 / figure.dpi == pytest.approx(apart / 2, abs=1e-6)


@pytest.mark.parametrize(
    "path",
    [path for ending in ("svg", "png") for path in sorted(ROOT.glob(f"results/*/*.{ending}"))],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_the_figures_of_the_results_are_small(path):
    if path.suffix == ".svg":
        assert len(path.read_text().splitlines()) < 1000
    else:
        width = int.from_bytes(path.read_bytes()[16:20], "big")  # in the header of PNG
        assert width <= 1.4 * style.WIDTH * style.PIXELS


def test_panels_side_by_side_are_legible_on_a_page():
    for name, chart in CHARTS.items():
        assert drawing.draw(chart).get_figwidth() <= 1.4 * style.WIDTH, name


@pytest.mark.parametrize(("name", "there"), [("rows", True), ("names", True), ("curves", False)])
def test_differences_have_the_line_of_none(name, there):
    (axes,) = drawing.draw(CHARTS[name]).axes
    lines = [{*line.get_xdata()} == {0} or {*line.get_ydata()} == {0} for line in axes.lines]
    assert any(lines) == there


@pytest.mark.parametrize("name", CHARTS)
def test_a_figure_is_two_small_files_and_always_the_same(name, tmp_path):
    written = charts.draw({name: CHARTS[name], "nothing": Chart("", [Panel("", "", [])])}, tmp_path)
    assert [path.name for path in written] == [f"{name}.svg", f"{name}.png"]
    before = [path.read_bytes() for path in written]
    assert len(before[0].splitlines()) < 1500
    assert len(before[1]) < 150_000
    charts.draw({name: CHARTS[name]}, tmp_path)
    assert [path.read_bytes() for path in written] == before


@pytest.mark.parametrize("wanted", [[5, 5, 5], [0, 100, 101], [50], [], [99, 98, 97, 1]])
def test_labels_are_moved_apart_and_keep_their_order(wanted):
    found = chart_labels.spread(wanted, 10, 0, 100)
    for one, other in itertools.combinations(range(len(wanted)), 2):
        assert abs(found[one] - found[other]) >= 10 - 1e-3
        if wanted[one] < wanted[other]:
            assert found[one] < found[other]
    assert all(-1e-3 <= place <= 100 + 1e-3 for place in found)


def test_an_interval_that_is_not_known_leaves_the_dot_hollow():
    rows = [Row("known", 1.0, 0.5, 1.5), Row("not known", 2.0)]
    (axes,) = drawing.draw(Chart("t", [Rows("BLEU", rows)])).axes
    faces = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "o"]
    assert faces[1] == "white" != faces[0]
