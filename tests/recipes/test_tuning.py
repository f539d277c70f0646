"""Runs among which a setting is chosen see no test set and are no results."""

from pathlib import Path

import arm
import comparison
import ledger
import report
import tuning
from recorded_runs import Runs

FIXED = ["--ledger", "ledger.jsonl", "--runs", "runs", "--data", "data"]


def test_a_tuning_run_is_trained_and_recorded_and_translates_nothing(checkout):
    assert arm.main(["narrow", *FIXED, "--score", "tuning", "--", "--max-epoch", "1"]) == 0
    assert Path("calls").read_text().split() == ["train"]
    (entry,) = ledger.read(Path("ledger.jsonl"))
    assert (entry["kind"], entry["setting"]["kind"]) == ("tuning", "tuning")
    assert entry["figures"]["epochs"] == 1
    assert not [name for name in entry["figures"] if "bleu" in name]
    assert arm.main(["narrow", *FIXED, "--score", "tuning", "--", "--max-epoch", "1"]) == 0
    assert Path("calls").read_text().split() == ["train"]  # it is in the ledger


def test_reports_list_tuning_runs_apart(checkout):
    arm.main(["narrow", *FIXED, "--score", "tuning", "--", "--max-epoch", "1"])
    arm.main(["wide", *FIXED, "--reference", "test.de", "--", "--max-epoch", "1"])
    entries = ledger.read(Path("ledger.jsonl"))
    assert Runs(entries).arms == ["wide"]
    assert [row.label for row in comparison.rows_of(tuning.without(entries))] == ["wide"]
    assert report.main(["ledger.jsonl", "--arms", "wide"]) == 0
    text = Path("report.md").read_text()
    table, apart = text.split("## Settings chosen on the validation set")
    assert "narrow" not in table
    assert "| narrow |" in apart


def test_a_ledger_of_tuning_runs_alone_is_reported(checkout):
    arm.main(["narrow", *FIXED, "--score", "tuning", "--", "--max-epoch", "1"])
    assert report.main(["ledger.jsonl", "--arms", "wide"]) == 0
    assert "| narrow |" in Path("report.md").read_text()
