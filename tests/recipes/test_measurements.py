"""Figures are written down with what they depend on."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from recipes.lab import ledger, measurements

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import turns


def test_a_file_says_what_its_figures_depend_on(tmp_path, capsys):
    output = tmp_path / "new" / "speed.json"
    measurements.write(output, [{"arm": "a"}], arms={"a": ["--arch", "lstm"]})
    assert json.loads(output.read_text()) == {
        "arms": {"a": ["--arch", "lstm"]},
        "commit": ledger.commit(),
        "machine": ledger.machine(),
        "versions": ledger.versions(),
        "rows": [{"arm": "a"}],
    }
    assert capsys.readouterr().out == f"{output}\n"


def test_benchmarks_write_the_same_and_their_options_as_words(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "PEERS", ("torch", "a-library-that-is-not-installed"))
    turns.write(tmp_path / "a", {"rounds": 3, "output": Path("x")}, [{"arm": "a"}])
    settings = {"rounds": "3", "output": "x"}
    measurements.write(tmp_path / "b", [{"arm": "a"}], settings=settings)
    assert json.loads((tmp_path / "a").read_text()) == {
        **json.loads((tmp_path / "b").read_text()),
        "trial": turns.why_not_published({"rounds": 3}),
        "peers": {"torch": version("torch")},
        "turns": [],
    }


def test_what_is_measured_in_few_rounds_is_marked_as_a_trial(tmp_path):
    turns.write(tmp_path / "a", {"rounds": turns.FEWEST_ROUNDS - 1}, [])
    assert json.loads((tmp_path / "a").read_text())["trial"]


def test_the_commit_is_that_of_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "commit", lambda: "another, made while the arms ran")
    measurements.write(tmp_path / "a", [])
    assert json.loads((tmp_path / "a").read_text())["commit"] == measurements.COMMIT


def test_figures_that_are_no_json_leave_the_file_as_it_was(tmp_path):
    measurements.write(tmp_path / "a", [])
    before = (tmp_path / "a").read_text()
    with pytest.raises(TypeError):
        measurements.write(tmp_path / "a", [{"arm": object()}])
    assert (tmp_path / "a").read_text() == before
