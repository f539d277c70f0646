"""What the page of the reliability run says, and which counts make it fail."""

import os

import pytest

from tests.faults import report

GOOD = {topic: {name or "clear": least} for topic, name, least in report.PROMISED}
GOOD["kills"] = {name: least for topic, name, least in report.PROMISED if topic == "kills"}


def with_counts(topic, **row):
    return {**GOOD, topic: {**GOOD.get(topic, {}), **row}}


def test_what_was_promised_is_enough():
    assert report.shortfalls(GOOD) == []
    assert report.shortfalls(GOOD, minutes=29.9) == []


@pytest.mark.parametrize("name", ["traceback", "hang", "killed", "unclear", "for another reason"])
@pytest.mark.parametrize("topic", ["bad inputs", "options walked", "ranks"])
def test_a_column_that_must_be_0_is_named(topic, name):
    assert report.shortfalls(with_counts(topic, **{name: 2})) == [f"{topic}: 2 {name}"]


def test_an_accepted_value_of_an_option_is_fine_and_an_accepted_bad_input_is_not():
    assert report.shortfalls(with_counts("options walked", accepted=7)) == []
    assert report.shortfalls(with_counts("bad inputs", accepted=1)) == ["bad inputs: 1 accepted"]
    topic = "bad inputs: vector files"
    assert report.shortfalls(with_counts(topic, accepted=1)) == [f"{topic}: 1 accepted"]


def test_less_than_promised_and_longer_than_promised_are_named():
    (line,) = report.shortfalls({**GOOD, "bad inputs": {"clear": 299}})
    assert line == "bad inputs: 299 clear, promised 300"
    (line,) = report.shortfalls(GOOD, minutes=30.1)
    assert line == "make faults took 30.1 minutes, promised 30 at most"


def test_minutes_are_those_between_start_and_end(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "STARTED", tmp_path / "started")
    monkeypatch.setattr(report, "ENDED", tmp_path / "ended")
    assert report.minutes_taken() is None
    for path, seconds in ((report.STARTED, 1000), (report.ENDED, 1090)):
        path.touch()
        os.utime(path, (seconds, seconds))
    assert report.minutes_taken() == 1.5
    assert "- `make faults` took 1.5 minutes (promised: at most 30)\n" in report.page({}, [], 1.5)
    assert "took" not in report.page({}, [])
