"""What `make demo` runs, with two models that are too small to learn anything."""

import json
import re
from pathlib import Path

import pytest

from recipes.demo.arms import WORDS
from tests.warm_shell import Shell

ROOT = Path(__file__).parents[2]
ARMS = ("linear", "joint")  # the page compares them
SMALL = {"EPOCHS": "1", "DIM": "8", "TRAIN_SENTENCES": "200", "MAX_TOKENS": "2000", "THREADS": "1"}


@pytest.mark.system
def test_the_demo_compares_models_and_ends_with_a_page(tmp_path):
    settings = {**SMALL, "DATA": "toy", "ARMS": " ".join(ARMS)}
    shell = Shell(tmp_path / "shell", OUTLAYERS_WORK=str(tmp_path / "demo"), **settings)
    # The script finds the checkout by itself.
    printed = shell.run(f"{ROOT}/recipes/demo/run.sh", tmp_path)
    steps = re.findall(r"^\[(\d+)/(\d+)\] \d+:\d\d  \S", printed, re.MULTILINE)
    last = len(ARMS) + 4
    assert steps == [(str(step), str(last)) for step in range(1, last + 1)]
    assert len(re.findall(r"^      took \d+ s$", printed, re.MULTILINE)) == last
    rows = re.findall(r"^(\w+) +(.+?)  +[\d,]+ +[\d,]+ +\d+\.\d$", printed, re.MULTILINE)
    assert dict(rows) == {name: WORDS[name] for name in ARMS}

    work = tmp_path / "demo/toy"
    ledger = [json.loads(line) for line in (work / "ledger.jsonl").read_text().splitlines()]
    assert [entry["arm"] for entry in ledger] == list(ARMS)
    for page in ("page.html", "report.html"):
        assert str(work / page) in printed
        assert (work / page).read_text().rstrip().endswith("</html>")
