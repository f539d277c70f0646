"""Every benchmark says what it measures."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("turns",)  # what the others share
NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem not in MODULES)
# All in one process, which imports PyTorch and fairseq once.
SCRIPT = """
import runpy, shlex, sys
_, folder, *lines = sys.argv
sys.path.insert(0, folder)
for line in lines:
    sys.argv = name, *_ = shlex.split(line)
    print("==", name, flush=True)
    try:
        runpy.run_path(f"{folder}/{name}.py", run_name="__main__")
    except SystemExit as stopped:
        print("exit", stopped.code or 0)
"""


def run_all(lines, folder, errors=subprocess.PIPE):
    """Run benchmarks with their options in a folder; what they print."""
    command = [sys.executable, "-c", SCRIPT, str(ROOT / "benchmarks"), *lines]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "COLUMNS": "100",
                   "OMP_NUM_THREADS": "1"}  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout[-500:] + (done.stderr or "")[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def helps(tmp_path_factory):
    """What each prints for --help; run in a folder where nothing may appear."""
    folder = tmp_path_factory.mktemp("help")
    printed = run_all([f"{name} --help" for name in NAMES], folder)
    assert not list(folder.iterdir())
    return dict(re.findall(r"^== (\w+)\n(.*?^exit 0$)", printed, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_help_says_what_is_measured_and_how_to_run_it(name, helps):
    described = ast.get_docstring(ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text()))
    assert described in helps[name]
    assert f"python benchmarks/{name}.py" in described


def test_a_list_given_twice_is_refused(tmp_path):
    """Of two lists argparse takes the last one."""
    lines = [
        f"{name} {option} 1 {option} 2 --unknown"  # so that nothing is measured in any case
        for name in NAMES
        for option in re.findall(
            r'"(--[a-z-]+)"[^\n]*nargs="\+", default', (ROOT / f"benchmarks/{name}.py").read_text()
        )
    ]
    assert len(lines) > 5
    printed = run_all(lines, tmp_path, errors=subprocess.STDOUT)
    assert printed.count("given twice; give all values after one --") == len(lines)


def test_the_page_names_every_benchmark():
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`python benchmarks/(\w+)\.py`", page))
    assert named == {name for name in NAMES if not name.endswith("_worker")}
