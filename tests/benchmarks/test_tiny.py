"""Every benchmark that needs no data of its own runs, at sizes that measure nothing."""

import hashlib
import importlib
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.benchmarks.test_help import NAMES, ROOT, run_all
from tests.unit.hub.conftest import save_checkpoint
from tests.unit.pages.conftest import write_candidates

COMMANDS = [
    "candidate_decoding --classes 600 --small 400 --frequent 20 --per-word 2 --dimensions 8 "
    "--sentences 2 --length 3 --beam 2 --output-layers linear joint",
    "checkpoint_checksums --megabytes 1",
    "character_windows {folder}/long_words.txt --batch-words 4",
    "decoding --checkpoint {folder}/transformer_outlayers.1.pt --source {folder}/source.txt "
    "--candidates {folder}/candidates.npz --frequent 7 --per-word 3 --sentences 2 "
    "--batch-sizes 1 2 --beam 2",
    "echo_state --width 8 --classes 20 --sentences 2 --length 3",
    "growth --largest 130000 --sampled 16 --kinds sampled partition change --chart chart.svg",
    "output_side --classes 60 --positions 8 --dimensions 8 --sampled 16",
    "roofline --classes 60 --positions 8 --dimensions 8 --sampled 16",
    "row_updates --classes 60 --dimensions 8 --sampled 16",
    "sampled_loss --classes 60 --positions 8 --dimensions 8 --shares 0.5",
    "subword_lm --words 60",
    "training_step --classes 600 --shares 1 0.5 --dimensions 8 --joint-dim 8 --sentences 2 "
    "--length 3",
]
# The others train models by fairseq's commands, compile, or measure processes of their own.
LARGE = {
    "batch_independence", "chart", "exact_loss", "external_start", "gpu", "large_vocabulary",
    "start_up", "tensorflow_worker",
}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder in which they ran."""
    folder = tmp_path_factory.mktemp("tiny")
    save_checkpoint(folder, "transformer_outlayers")
    write_candidates(folder)
    (folder / "long_words.txt").write_text("international 2\nnationalities 1\n", "utf-8")
    (folder / "source.txt").write_text("w1 w2 w3\nw4\n", encoding="utf-8")
    lines = [f"{c} --rounds 1 --output {c.partition(' ')[0]}.json" for c in COMMANDS]
    lines = [line.replace("{folder}", str(folder)) for line in lines]
    assert not re.search(r"^exit ", run_all(lines, folder), re.MULTILINE)
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda line: line.partition(" ")[0])
def test_a_tiny_run_writes_its_figures_and_is_marked_as_a_trial(command, written):
    name = command.partition(" ")[0]
    found = json.loads((written / f"{name}.json").read_text(encoding="utf-8"))
    assert found["rows"]
    assert any(re.search("1 rounds, of at least 5", reason) for reason in found["trial"])


def test_a_result_of_decoding_has_the_checksums_of_its_files(written):
    settings = json.loads((written / "decoding.json").read_text(encoding="utf-8"))["settings"]
    for name in ("checkpoint", "source", "candidates"):
        content = (written / settings[name]).read_bytes()
        assert settings[f"{name}_sha256"] == hashlib.sha256(content).hexdigest()


def test_the_chart_of_growth_is_drawn(written):
    chart = (written / "chart.svg").read_bytes()
    assert b"number of classes: sampled" in chart
    run_all(["growth --redraw growth.json --chart again.svg"], written)
    assert (written / "again.svg").read_bytes() == chart


def test_a_partition_and_its_change_are_of_a_table_of_every_size(written):
    rows = json.loads((written / "growth.json").read_text(encoding="utf-8"))["rows"]
    points = {
        kind: [r["point"] for r in rows if (r["kind"], r["varied"]) == (kind, "classes")]
        for kind in ("sampled", "partition", "change")
    }
    assert points["change"] == points["partition"] == points["sampled"]
    assert len(points["change"]) > 1


def test_the_chart_of_the_readme_is_drawn_from_what_is_stored(tmp_path):
    command = [sys.executable, "benchmarks/chart.py", "--output", str(tmp_path / "chart.svg")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    chart = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    measured = json.loads((ROOT / "results/benchmarks/large_vocabulary.json").read_text("utf-8"))
    fastest = max(r["tokens_per_second"] for r in measured["rows"] if r["arm"].endswith(".V500000"))
    assert f"{fastest:,.0f} tokens/s" in chart


def test_every_benchmark_is_run_or_named_as_large():
    assert {line.partition(" ")[0] for line in COMMANDS} | LARGE == set(NAMES)


def test_a_change_moves_the_rows_and_moments_of_a_large_table(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    growth = importlib.import_module("growth")
    sizes = {"classes": 100, "positions": 8, "dimensions": 4}
    side = growth.OutputSide("change", sizes, SimpleNamespace(sampled=16, device="cpu"))
    (weight,) = (table for table in side.tables if table.parameter.dim() == 2)
    before, ids = weight.table.clone(), weight.ids
    assert weight.parameter.shape == (16, 4)
    side.turn()
    assert (weight.table != before).any(1).nonzero()[:, 0].tolist() == ids.tolist()
    assert weight.moments["exp_avg"].any(1).nonzero()[:, 0].tolist() == ids.tolist()
    assert weight.ids.tolist() != ids.tolist()
