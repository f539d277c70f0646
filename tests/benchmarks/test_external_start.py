"""The benchmark of external vectors stores what every round took."""

import importlib
import json
import sys
from types import SimpleNamespace

import pytest

from tests.benchmarks.test_help import ROOT


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield importlib.import_module("external_start")
    sys.modules.pop("external_start", None)


def test_every_round_of_an_arm_is_stored(benchmark, monkeypatch, tmp_path, capsys):
    """The processes are stand-ins: that of round n takes n seconds, with vectors 10 n."""
    taken = {"without": [], "with": []}

    def run(command, **_):
        name = command[command.index("--child") + 1]
        seconds = (len(taken[name]) + 1) * (10.0 if name == "with" else 1.0)
        taken[name].append(seconds)
        return SimpleNamespace(stdout=json.dumps({"seconds": seconds, "peak_mb": 7 * seconds}))

    monkeypatch.setattr(benchmark, "subprocess", SimpleNamespace(run=run, PIPE=None))
    monkeypatch.setattr(benchmark, "write_table", lambda *_: None)
    output = tmp_path / "external_start.json"
    monkeypatch.setattr(
        sys, "argv", ["external_start.py", "--rounds", "3", "--output", str(output)]
    )
    benchmark.main()
    assert json.loads(output.read_text(encoding="utf-8"))["rows"] == [
        {"arm": "without", "seconds": [1, 2, 3], "peak_mb": [7, 14, 21]},
        {"arm": "with", "seconds": [10, 20, 30], "peak_mb": [70, 140, 210]},
    ]
    assert "| without | 2.00 | 14.00 |" in capsys.readouterr().out
