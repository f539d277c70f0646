"""The recipe of one's own in recipes/README.md, written as the page says, runs and reports."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
TINY = {"EPOCHS": "1", "DIM": "8", "SEEDS": "1 2", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the project, with text in ``text`` and the recipe ``own``."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("fairseq_outlayers", "recipes", "data_prep"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    page = (ROOT / "recipes" / "README.md").read_text(encoding="utf-8")
    section = page[page.index("## Write your own recipe") :]
    commands = "\n".join(re.findall(r"^    ((?:mkdir|cp) .*)$", section, re.M))
    assert commands.count("\n") == 1
    subprocess.run(["bash", "-ec", commands], cwd=folder, check=True)
    files = re.findall(r"`(recipes/own/[\w.]+)`.*?:\n\n```\w+\n(.*?)```", section, re.S)
    assert [Path(name).name for name, _ in files] == ["arms.py", "00_prepare.sh", "claims.py"]
    for name, code in files:
        (folder / name).write_text(code, encoding="utf-8")
    (folder / "recipes/own/00_prepare.sh").chmod(0o755)
    toy = [sys.executable, "data_prep/toy_corpus.py", "--output", "text", "--train", "200",
           "--valid", "20", "--test", "20", "--vocabulary", "50"]  # fmt: skip
    subprocess.run(toy, cwd=folder, check=True, capture_output=True)
    for text in list((folder / "text").iterdir()):
        text.rename(text.with_suffix({".src": ".de", ".tgt": ".en"}.get(text.suffix, text.suffix)))
    return folder


def run(folder, *command):
    environment = {**os.environ, **TINY, "OUTLAYERS_PYTHON": sys.executable, "PYTHONPATH": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_it_runs_every_step_and_gives_a_verdict(checkout):
    done = run(checkout, "recipes/own/run.sh")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    results = checkout / "results" / "own"
    assert len((results / "ledger.jsonl").read_text().splitlines()) == 4  # two arms, two seeds
    table = (results / "report.md").read_text(encoding="utf-8")
    assert re.search(r"^\| tied \|", table, re.M)
    assert re.search(r"^\| joint \|", table, re.M)
    verdict = (results / "claims.md").read_text(encoding="utf-8")
    assert "1. A joint space is at least as good as tying | **undecided**" in verdict
    assert "2 seeds" in verdict


def test_an_unknown_arm_is_one_line(checkout):
    done = run(checkout, sys.executable, "-m", "recipes.lab", "run", "own", "jiont")
    assert done.returncode != 0
    assert done.stderr.splitlines()[-1] == "own: no arm 'jiont'; known are tied joint"
