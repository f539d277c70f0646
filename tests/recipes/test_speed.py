"""Arms take turns, and however few the updates are, there is something to measure."""

import json
import sys
from pathlib import Path

import pytest

from recipes.lab.running import speed
from recipes.lab.settings import UserError

# Prints a line of statistics every --log-interval updates: slow at first, then by the arm.
FAKE_TRAIN = """#!{python}
import json, pathlib, sys
value = lambda option: sys.argv[sys.argv.index(option) + 1]
with open("calls", "a") as calls:
    print(value("--arch"), value("--seed"), file=calls)
with open("folders", "a") as folders:
    print(sys.argv[1], file=folders)
if "--user-dir" not in sys.argv:
    pathlib.Path("stock").write_text(value("--arch"))
speed = {{"stock": 100.0, "ours": 150.0}}[value("--arch")]
for update in range(1, int(value("--max-update")) + 1):
    if update % int(value("--log-interval")) == 0:
        wps = str(speed if update > int(value("--log-interval")) else 1.0)
        print("x | INFO | train_inner | " + json.dumps({{"update": 0.1, "wps": wps}}))
"""


@pytest.fixture
def train(tmp_path, monkeypatch):
    """Measures with a stand-in for fairseq-train."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "fairseq-train"
    command.write_text(FAKE_TRAIN.format(python=sys.executable))
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))

    def run(rounds=2, updates=20, arms=None):
        arms = arms or {"a": ["--arch", "stock"], "b": ["--arch", "ours"]}
        measure = speed.of_training(arms, "data", Path("runs"), updates, stock=["a"])
        rows = speed.take_turns(list(arms), rounds, measure)
        speed.write(Path("speed.json"), rows, arms, "tokens_per_second", 0)

    return run


@pytest.mark.parametrize("updates", [2, 3, 20, 40])
def test_every_round_compares_the_arms_however_few_the_updates(train, updates):
    train(updates=updates)
    calls = Path("calls").read_text().split("\n")[:-1]
    assert sorted(calls[:2]) == ["ours 1", "stock 1"]
    assert sorted(calls[2:]) == ["ours 2", "stock 2"]
    facts = json.loads(Path("speed.json").read_text())
    assert facts["arms"] == {"a": ["--arch", "stock"], "b": ["--arch", "ours"]}
    assert Path("stock").read_text() == "stock"  # arm b runs with this package
    first, second = facts["rows"]
    assert first["rounds"] == [100.0, 100.0]
    assert second["ratios"] == [1.5, 1.5]


def test_one_update_is_refused_before_anything_is_trained(train):
    with pytest.raises(UserError, match="SPEED_UPDATES=1: at least 2"):
        train(updates=1)
    assert not Path("calls").exists()


def test_an_arm_may_be_trained_on_a_folder_of_its_own(train):
    train(rounds=1, arms={"a": ["--arch", "stock"], "b": ["larger", "--arch", "ours"]})
    assert sorted(Path("folders").read_text().split()) == ["data", "larger"]


def test_the_order_of_the_arms_is_drawn_anew_in_every_round(monkeypatch):
    monkeypatch.setattr(speed, "find_fairseq_commands", lambda: None)
    orders = []

    def measure(name, number):
        orders.append((number, name))
        return 1.0, 1.0

    speed.take_turns("abc", 12, measure)
    rounds = ["".join(name for n, name in orders if n == number) for number in range(1, 13)]
    assert all(sorted(order) == ["a", "b", "c"] for order in rounds)
    assert len(set(rounds)) > 3


def test_schedules_that_need_a_validation_have_one(monkeypatch):
    commands = []
    monkeypatch.setattr(speed, "logged", lambda command, *_: commands.append(command) or (1.0, 1.0))
    arms = {"a": ["--lr-scheduler", "shrink_after_rise", "--patience", "2"]}
    speed.of_training(arms, "data", Path("runs"), 20)("a", 1)
    assert "--disable-validation" not in commands[0]
    assert "--max-valid-steps 1" in " ".join(commands[0])


def test_a_ratio_is_the_median_of_the_rounds_and_memory_the_largest(monkeypatch):
    monkeypatch.setattr(speed, "find_fairseq_commands", lambda: None)
    values = {"a": [(1, 5), (2, 9), (9, 1)], "b": [(5, 1), (4, 2), (9, 3)]}
    a, b = speed.take_turns(["a", "b"], 3, lambda name, number: values[name][number - 1])
    assert (b["ratio_to_first"], b["ratios"]) == (2, [5, 2, 1])
    assert (a["tokens_per_second"], b["tokens_per_second"]) == (2, 5)
    assert (a["peak_rss_mb"], b["peak_rss_mb"]) == (9, 3)


def test_a_slow_line_of_the_log_counts_by_its_time(tmp_path):
    """As with a change of partition; 30 updates of 100 tokens, ten a line, after the warm-up."""
    log = tmp_path / "log"
    lines = [f'x | INFO | train_inner | {{"wps": "{wps}"}}' for wps in (7, 100, 100, 25)]
    log.write_text("\n".join(lines))
    seconds = 10 + 10 + 40
    assert speed.tokens_per_second(log) == pytest.approx(30 * 100 / seconds)
