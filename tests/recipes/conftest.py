"""A checkout with stand-ins for fairseq's commands, and arms to run in it."""

import os
import stat
import sys
from pathlib import Path

import pytest

from recipes.lab import ledger
from recipes.lab.arms import Arm, TranslationTest
from recipes.lab.running.process import CommandFailed
from recipes.lab.running.run_arm import Place, Run, execute
from recipes.lab.scores.scoring import Incomplete

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = 11

# Stands in for fairseq-train: "trains" an epoch a call until --max-epoch is reached.
FAKE_TRAIN = """#!{python}
import os, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--save-dir") + 1])
epochs = int(sys.argv[sys.argv.index("--max-epoch") + 1])
with open("calls", "a") as calls:
    print("train", file=calls)
print("x | INFO | y | num. shared model params: 1,000 (num. trained: 1,000)", flush=True)
last = folder / "checkpoint_last.pt"
done = int(last.read_text()) if last.exists() else 0
for epoch in range(done + 1, epochs + 1):
    print(f'x | INFO | train | {{"epoch": {epoch}, "train_wps": "50"}}'.replace("{{", "{"))
    (folder / "checkpoint_best.pt").write_text("best")
    last.write_text(str(epoch))
    if os.path.exists("crash") and epoch == 1:
        os.remove("crash")
        sys.exit("RuntimeError: out of memory")
print("x | INFO | y | done training in 1.0 seconds")
"""
FAKE_GENERATE = """#!{python}
import os
with open("calls", "a") as calls:
    print("generate", file=calls)
for number in reversed(range(int(os.environ.get("TRANSLATED", "11")))):
    print(f"D-{number}\\t-0.5\\tthe cat number {number} sat down .")
    print(f"P-{number}\\t-0.9 -0.9")
    print(f"D-{number}\\t-0.6\\tthe cat number {number} .")
    print(f"P-{number}\\t-0.8 -0.8")
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with binarized data, references and stand-ins for fairseq's commands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", os.environ["PATH"])
    (tmp_path / "bin").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dict.de.txt").write_text("katze 1\n")
    references = [f"the cat number {number} sat down .\n" for number in range(SENTENCES)]
    (tmp_path / "test.de").write_text("".join(references))
    real = os.path.realpath("/proc/self/exe") if os.path.exists("/proc/self/exe") else "python3"
    for name, text in (("fairseq-train", FAKE_TRAIN), ("fairseq-generate", FAKE_GENERATE)):
        path = tmp_path / "bin" / name
        path.write_text(text.replace("{python}", real))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def run(
    name="tied",
    seed=1,
    epochs=3,
    force=False,
    ledger="ledger.jsonl",
    words="",
    stock=False,
    more=(),
    **test,
):
    """Run an arm in a checkout; whether that went well."""
    test = {"generate": "--beam 5", "reference": "test.de", **test}
    train = ("--max-epoch", str(epochs), *more)
    arm = Arm(name, words, "data", TranslationTest(**test), train, stock=stock)
    try:
        execute(Run(arm, seed, Place(Path(ledger), Path("runs"))), force)
    except (CommandFailed, Incomplete) as error:
        print(error, file=sys.stderr)
        return False
    return True


def calls():
    """What the stand-ins were asked for."""
    path = Path("calls")
    return path.read_text().split() if path.exists() else []
