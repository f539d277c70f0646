"""Arms compared after equal time of training."""

import math

import pytest

from recipes.lab.pages import equal_time
from recipes.lab.runs import Runs


def epochs(**perplexities):
    """Epochs by the minute in which they end, ``m5=9.0``."""
    minutes = [(float(name[1:]), ppl) for name, ppl in perplexities.items()]
    return [{"seconds": 60 * minute, "valid_ppl": ppl} for minute, ppl in minutes]


def test_a_run_has_the_lowest_perplexity_of_its_finished_epochs():
    run = epochs(m2=9.0, m4=7.0, m6=8.0)
    assert [equal_time.best(run, 60 * minute) for minute in (1, 2, 3, 4, 7)] == [
        math.inf, 9.0, 9.0, 7.0, 7.0
    ]  # fmt: skip


def test_the_lead_counts_from_when_it_is_not_lost_again():
    """The other leads at 3, not at 4, and from 6 on; its minute 9 is after the first one's end."""
    first = epochs(m2=20.0, m4=10.0, m8=9.0)
    other = epochs(m3=15.0, m6=8.0, m9=2.0)
    assert equal_time.race(first, other) == (6.0, 8.0, (9.0, 8.0))


def test_a_run_that_is_not_behind_at_the_end_is_not_behind():
    first, other = epochs(m2=9.0, m5=5.0), epochs(m1=8.0, m4=6.0, m7=1.0)
    assert equal_time.race(first, other) == (math.inf, 5.0, (5.0, 6.0))
    # Level is not behind.
    assert equal_time.race(first, epochs(m2=9.0, m5=5.0)).behind_from == math.inf


def test_the_shorter_run_ends_the_comparison():
    short, long = epochs(m2=9.0), epochs(m1=10.0, m3=1.0)
    assert equal_time.race(short, long).perplexities == (9.0, 10.0)
    assert equal_time.race(long, short) == (2.0, 2.0, (10.0, 9.0))


def line(arm, seed, history, cpu="one", date="2026-11-25T19:00:00+00:00", **figures):
    return {"arm": arm, "seed": seed, "key": "k", "machine": {"cpu": cpu}, "date": date,
            "figures": {"history": history, **figures}}  # fmt: skip


@pytest.mark.parametrize(
    "fault", [{"cpu": "two"}, {"attempts": 2}, {"date": "2026-11-25T19:16:00+00:00"}]
)
def test_runs_of_other_machines_and_hours_and_interrupted_ones_are_not_compared(fault):
    first, other = epochs(m2=9.0), epochs(m1=10.0, m2=8.0)
    lines = [line("a", 1, first), line("a", 2, first), line("b", 1, other)]
    runs = Runs([*lines, line("b", 2, other, **fault)])
    assert list(equal_time.races(runs, "a", "b")) == [1]
    table = equal_time.section(runs, [("a", "b"), ("a", "missing")])
    assert table[-1] == "| a | b | 1 | 1.0 | 2.0 | 9.00 | 8.00 | +12.5% |"
    assert equal_time.section(runs, [("a", "missing")]) == []


@pytest.mark.parametrize(
    ("ended", "took", "compares"),
    [
        ("19:14", 0, True),
        ("18:46", 0, True),
        ("19:16", 0, False),
        ("18:43", 0, False),
        # Began before, or ten minutes after, the other had ended at 19:00.
        ("20:00", 70, True),
        ("20:00", 50, True),
        ("20:00", 44, False),
    ],
)
def test_runs_at_one_time_or_in_succession_are_compared(ended, took, compares):
    first, other = epochs(m2=9.0), epochs(m1=10.0, m2=8.0)
    date = f"2026-11-25T{ended}:00+00:00"
    later = line("b", 1, other, date=date, train_wall_seconds=60 * took)
    runs = Runs([line("a", 1, first, train_wall_seconds=60), later])
    assert bool(equal_time.races(runs, "a", "b")) is compares
