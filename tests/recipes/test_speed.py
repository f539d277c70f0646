"""Arms take turns, and however few the updates are, there is something to measure."""

import json
import sys
from pathlib import Path

import pytest

import speed

# Prints a line of statistics every --log-interval updates: slow at first, then by the arm.
FAKE_TRAIN = """#!{python}
import json, pathlib, sys
value = lambda option: sys.argv[sys.argv.index(option) + 1]
with open("calls", "a") as calls:
    print(value("--arch"), value("--seed"), file=calls)
with open("folders", "a") as folders:
    print(sys.argv[1], file=folders)
speed = {{"stock": 100.0, "ours": 150.0}}[value("--arch")]
for update in range(1, int(value("--max-update")) + 1):
    if update % int(value("--log-interval")) == 0:
        wps = str(speed if update > int(value("--log-interval")) else 1.0)
        print("x | INFO | train_inner | " + json.dumps({{"update": 0.1, "wps": wps}}))
"""


@pytest.fixture
def train(tmp_path, monkeypatch):
    """Runs speed.py with a stand-in for fairseq-train."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "fairseq-train"
    command.write_text(FAKE_TRAIN.format(python=sys.executable))
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))

    def run(*options):
        fixed = ["--data", "data", "--runs", "runs", "--output", "speed.json", *options]
        return speed.main([*fixed, "--", "a", "--arch", "stock", "--", "b", "--arch", "ours"])

    return run


@pytest.mark.parametrize("updates", [2, 3, 20, 40])
def test_every_round_compares_the_arms_however_few_the_updates(train, updates):
    assert train("--updates", str(updates), "--rounds", "2") == 0
    calls = Path("calls").read_text().split("\n")[:-1]
    assert sorted(calls[:2]) == ["ours 1", "stock 1"]
    assert sorted(calls[2:]) == ["ours 2", "stock 2"]
    first, second = json.loads(Path("speed.json").read_text())["rows"]
    assert first["rounds"] == [100.0, 100.0]
    assert second["ratios"] == [1.5, 1.5]


def test_one_update_is_refused_before_anything_is_trained(train, capsys):
    with pytest.raises(SystemExit):
        train("--updates", "1")
    assert "--updates 1: at least 2" in capsys.readouterr().err
    assert not Path("calls").exists()


def test_an_arm_may_be_trained_on_a_folder_of_its_own(train):
    fixed = ["--data", "data", "--runs", "runs", "--output", "speed.json", "--rounds", "1"]
    arms = ["--", "a", "--arch", "stock", "--", "b", "larger", "--arch", "ours"]
    assert speed.main([*fixed, *arms]) == 0
    assert sorted(Path("folders").read_text().split()) == ["data", "larger"]


def test_the_order_of_the_arms_is_drawn_anew_in_every_round():
    orders = []
    speed.take_turns("abc", 12, lambda name, number: (orders.append((number, name)) or 1.0, 1.0))
    rounds = ["".join(name for n, name in orders if n == number) for number in range(1, 13)]
    assert all(sorted(order) == ["a", "b", "c"] for order in rounds)
    assert len(set(rounds)) > 3
