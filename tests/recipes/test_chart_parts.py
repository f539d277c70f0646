"""Charts of several recipes say what the ledger says, and speak of no arm that was not run."""

import math

import pytest

from recipes.lab import ledger
from recipes.lab.figures import chart_parts
from recipes.lab.figures.chart_labels import coloured
from recipes.lab.figures.charts import Panel, Row
from recipes.lab.runs import Runs
from recipes.lab.scores.resampling import Estimate
from tests.recipes.test_table import add

LABELS = {"a": "the trained one", "b": "the frozen one", "c": "one that was not run"}
TIMES = {"train_seconds_epochs": 5, "epochs": 5}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    path = tmp_path / "results" / "mine" / "ledger.jsonl"
    history = [{"epoch": 1, "updates": 9, "seconds": 60.0, "valid_ppl": 7.5}]
    for seed in (1, 2):
        add(path, "a", seed, 50.0, wrong=0.1, train_seconds=600.0, history=history, **TIMES)
        add(path, "b", seed, 20.0, wrong=0.5, train_seconds=120.0, history=history, **TIMES)
    return Runs(ledger.read(path), "tokenised")


def test_bleu_stands_over_the_minutes_of_training(runs):
    chart = chart_parts.by_time(runs, LABELS, "Toy")
    bleu, perplexity = chart.panels
    one, other = bleu.series
    assert (one.names, one.x, other.names, other.x) == (
        ["the trained one"], [10], ["the frozen one"], [2],
    )  # fmt: skip
    assert one.y == [chart_parts.bleu_of(runs, "a").value]
    assert one.low[0] < one.y[0] < one.high[0]
    assert [(s.label, s.x, s.y) for s in perplexity.series] == [
        (label, [9], [7.5]) for label in list(LABELS.values())[:2]
    ]
    words = f"Toy: the trained one reaches {one.y[0]:.1f} BLEU, the frozen one {other.y[0]:.1f}"
    assert chart.title == words
    assert "2 seeds" in chart.note
    assert "not run" not in chart.title + chart.note


def test_the_minutes_are_the_median_of_the_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    path = tmp_path / "results" / "mine" / "ledger.jsonl"
    for seed, seconds in enumerate((6000.0, 120.0, 180.0), start=1):
        add(path, "a", seed, 50.0, train_seconds=seconds, **TIMES)
    add(path, "a", 4, 50.0)  # unknown
    assert chart_parts.minutes_of(Runs(ledger.read(path), "tokenised"), "a", "X") == 3


def test_minutes_of_different_processors_are_not_mixed(tmp_path, monkeypatch):
    """Two runs of three were on the fast one; `c` was not, so its minutes say nothing here."""
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    path = tmp_path / "results" / "mine" / "ledger.jsonl"
    for arm, seed, cpu, seconds in (
        ("a", 1, "slow", 6000.0), ("a", 2, "fast", 600.0), ("a", 3, "slow", 6000.0),
        ("b", 1, "fast", 1200.0), ("b", 2, "fast", 1200.0), ("c", 1, "slow", 60.0),
        ("b", 3, "fast", 1200.0),
    ):  # fmt: skip
        add(path, arm, seed, 50.0, wrong=0.1, cpu=cpu, train_seconds=seconds, **TIMES)
    labels = {arm: arm.upper() for arm in "abc"}
    chart = chart_parts.by_time(Runs(ledger.read(path), "tokenised"), labels, "")
    assert [series.x for series in chart.panels[0].series] == [[10], [20], []]
    assert "one kind of processor (fast)" in chart.note
    assert "without minutes there: C" in chart.note


def test_perplexities_that_do_not_compare_are_not_drawn(runs):
    chart = chart_parts.by_time(runs, LABELS, "Toy", not_curves=["a"])
    assert [len(panel.series) for panel in chart.panels] == [2]


def test_an_arm_has_the_same_color_in_both_panels(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    path = tmp_path / "results" / "mine" / "ledger.jsonl"
    history = [{"epoch": 1, "updates": 9, "seconds": 60.0, "valid_ppl": 7.5}]
    add(path, "a", 1, 50.0, train_seconds=600.0, **TIMES)  # without a curve
    add(path, "b", 1, 50.0, train_seconds=600.0, history=history, **TIMES)
    add(path, "c", 1, 50.0, history=history)  # without a time
    add(path, "d", 1, 50.0, train_seconds=600.0, history=history, **TIMES)
    labels = {arm: arm.upper() for arm in "abcd"}
    chart = chart_parts.by_time(Runs(ledger.read(path), "tokenised"), labels, "Toy")
    bleu, perplexity = (
        {series.group or series.label: color for series, color in coloured(panel)}
        for panel in chart.panels
    )
    assert set(bleu) == {"A", "B", "D"}
    assert set(perplexity) == {"B", "C", "D"}
    assert [bleu[arm] for arm in "BD"] == [perplexity[arm] for arm in "BD"]


def test_an_interval_of_bleu_does_not_go_below_0(runs):
    runs.estimate = lambda arms, statistic: Estimate(2.0, -3.0, 7.0, 3)
    assert chart_parts.bleu_of(runs, "a") == (2.0, 0.0, 7.0, 3)


def test_a_caption_says_why_dots_are_hollow():
    rows = [Row.of("a", Estimate(1, 0, 2, 3)), Row.of("b", Estimate(1, 0, 2, 1)), Row("c", 1)]
    for shown, words in (
        (rows[:1], "Note."),
        (rows[:2], "Note. Hollow: fewer than 3 seeds."),
        (rows[2:], "Note. Hollow: no interval over test sentences."),
    ):
        assert chart_parts.rows_chart("t", "x", shown, "Note.").caption == words


def test_without_translations_there_is_a_value_and_no_interval(runs, tmp_path):
    for path in tmp_path.rglob("*.hyp"):
        path.unlink()
    found = chart_parts.bleu_of(runs, "a")
    assert found.value == 50.0
    assert math.isnan(found.low)
    assert chart_parts.bleu_of(runs, "c") is None


def test_differences_are_those_of_the_runs(runs):
    (row,) = chart_parts.difference_rows(runs, "a", LABELS)
    found = runs.difference({"b": 1, "a": -1})
    assert (row.label, row.value, row.low, row.high) == ("the frozen one", *found[:3])


@pytest.mark.parametrize("arms", [{}, {"a": "alone"}, {"c": "not run"}])
def test_a_chart_of_one_arm_or_none_makes_no_comparison(runs, arms):
    chart = chart_parts.by_time(runs, arms, "Toy")
    assert chart.title == "Toy: BLEU against training time"
    assert isinstance(chart.panels[0], Panel)
