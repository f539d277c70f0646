"""The steps of ``make gpu``, rehearsed on a CPU at sizes that measure nothing."""

import importlib.util
import json
import sys

import pytest

from tests.benchmarks.test_help import ROOT

TINY = "--classes 60 --positions 8 --dimensions 8 --sampled 16"


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    """The module; its one test file passes."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    spec = importlib.util.spec_from_file_location("gpu", ROOT / "benchmarks" / "gpu.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    passes = tmp_path / "test_passes.py"
    passes.write_text("def test_passes(): pass\n", encoding="utf-8")
    monkeypatch.setattr(module, "TESTS", ["-m", "pytest", "-q", str(passes)])
    monkeypatch.setattr(module, "BENCHMARKS", {"roofline": TINY})
    return module


def run(gpu, monkeypatch, tmp_path, *options):
    """The exit status and the file."""
    output = tmp_path / "gpu.json"
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--output", str(output), *options])
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    return ended.value.code, json.loads(output.read_text(encoding="utf-8"))


def test_the_file_has_the_tests_and_the_figures_of_every_benchmark(gpu, monkeypatch, tmp_path):
    status, found = run(gpu, monkeypatch, tmp_path, "--device", "cpu")
    assert not status
    tests, roofline = found["rows"]
    assert (tests["step"], tests["code"]) == ("tests", 0)
    assert "1 passed" in tests["last_lines"][-1]
    assert (roofline["step"], roofline["code"]) == ("roofline", 0)
    assert roofline["figures"]["settings"]["device"] == "cpu"
    assert roofline["figures"]["rows"]


def test_a_step_that_fails_or_takes_too_long_is_told_and_the_others_run(gpu, monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "TESTS", ["-c", "import time; time.sleep(60)"])
    monkeypatch.setattr(gpu, "BENCHMARKS", {"growth": "--kinds none"})
    monkeypatch.setattr(gpu, "TESTS_SHARE", 0.01)
    status, found = run(gpu, monkeypatch, tmp_path, "--device", "cpu", "--seconds", "100")
    assert status
    assert [row["code"] for row in found["rows"]] == [124, 2]
    assert "stopped after 1 seconds" in found["rows"][0]["last_lines"][-1]


def test_without_a_gpu_nothing_runs(gpu, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--output", str(tmp_path / "gpu.json")])
    monkeypatch.setattr(gpu.torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="no GPU here, or a torch without CUDA: nothing was run"):
        gpu.main()
    assert not (tmp_path / "gpu.json").exists()
