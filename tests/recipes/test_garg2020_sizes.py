"""Sizes of checkpoints are those of the files that fairseq-train writes."""

import json
import sys
from pathlib import Path

import pytest

from recipes.garg2020_esnmt import checkpoint_sizes
from recipes.lab.arms import load

# Writes a checkpoint of three megabytes, of one without the optimizer's state.
FAKE_TRAIN = """#!{python}
import pathlib, sys
value = lambda option: sys.argv[sys.argv.index(option) + 1]
size = 1 if "--no-save-optimizer-state" in sys.argv else 3
size *= 2 if value("--arch") == "rnmt_plus" else 1
folder = pathlib.Path(value("--save-dir"))
assert not list(folder.glob("*.pt")), "the checkpoint before would be resumed"
(folder / "checkpoint_last.pt").write_bytes(b"x" * size * 10**6)
print("updates", value("--max-update"))
"""


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    command = tmp_path / "bin" / "fairseq-train"
    command.parent.mkdir()
    command.write_text(FAKE_TRAIN.format(python=sys.executable))
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    folders = {f"OUTLAYERS_{name}": str(tmp_path / name.lower()) for name in ("WORK", "RESULTS")}
    return load("garg2020_esnmt", folders)


def test_every_model_of_the_speed_step_is_measured_with_and_without_the_optimizer(recipe, capsys):
    left = Path(recipe.work, "checkpoint_sizes", "checkpoint_last.pt")  # by an interrupted run
    left.parent.mkdir(parents=True)
    left.write_bytes(b"")
    checkpoint_sizes.main(recipe)
    file = Path(recipe.results, checkpoint_sizes.FILE)
    rows = json.loads(file.read_text())["rows"]
    assert [row["arm"] for row in rows] == list(recipe.speed_arms()[1])
    sizes = [(row["checkpoint_mb"], row["without_optimizer_mb"]) for row in rows]
    assert sizes == [(6.0, 2.0) if "rnmt_plus" in row["arm"] else (3.0, 1.0) for row in rows]
    assert not Path(recipe.work, "checkpoint_sizes").exists()
    capsys.readouterr()
    checkpoint_sizes.main(recipe)  # what is measured is not measured again
    assert "FORCE=1 measures again" in capsys.readouterr().out
