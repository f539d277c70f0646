"""Arms compared after the same number of epochs."""

import math

import pytest

from recipes.lab.pages import equal_epochs
from recipes.lab.runs import Runs


def run(arm, seed, *perplexities):
    history = [{"seconds": 60 * n, "valid_ppl": ppl} for n, ppl in enumerate(perplexities, start=1)]
    return {"arm": arm, "seed": seed, "key": "k", "figures": {"history": history}}


LINES = [
    run("a", 1, 10.0, 6.0, 7.0), run("a", 2, 10.0, 5.0, 5.5),
    run("b", 1, 20.0, 6.0), run("b", 2, 20.0, 5.0), run("b", 3, 1.0),
]  # fmt: skip


def test_runs_of_common_seeds_are_compared_by_the_lowest_perplexity_so_far():
    one, other = equal_epochs.curves(Runs(LINES), "a", "b")
    assert [len(runs) for runs in (one, other)] == [2, 2]  # seed 3 has no partner
    values = [equal_epochs.difference(one, other, epoch).value for epoch in (1, 2, 3)]
    assert values == pytest.approx([-50, 0, 0])  # the third epochs of a are worse, b has none


def test_the_interval_is_that_of_the_seeds():
    """Of 10% and 20% more: 12.706 times the standard error of the mean logarithm, nearly."""
    one, other = [[{"valid_ppl": 110.0}], [{"valid_ppl": 120.0}]], [[{"valid_ppl": 100.0}]] * 2
    found = equal_epochs.difference(one, other, 1)
    mean, error = (math.log(1.2) + math.log(1.1)) / 2, (math.log(1.2) - math.log(1.1)) / 2
    assert math.log(1 + found.value / 100) == pytest.approx(mean)
    ends = [math.log(1 + end / 100) - mean for end in (found.low, found.high)]
    assert ends == pytest.approx([-12.706 * error, 12.706 * error], rel=0.01)


def test_a_table_has_a_row_for_every_epoch_and_a_column_for_every_pair():
    table = equal_epochs.section(Runs(LINES), [("a", "b"), ("a", "missing")])
    assert table[4] == "| epochs | a against b (2 seeds) |"
    assert [line.split("|")[1].strip() for line in table[6:]] == ["1", "2", "3"]
    assert table[6] == "| 1 | -50.0 [-50.0, -50.0]% |"
    assert equal_epochs.section(Runs(LINES), [("a", "missing")]) == []
