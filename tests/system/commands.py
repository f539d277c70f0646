"""fairseq's commands as a user runs them, in a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "fairseq_outlayers"


def run(command, *options, stdin="", timeout=180, **environment):
    """Run a command of fairseq's as its console script does; stdout and stderr as text."""
    inherited = {key: value for key, value in os.environ.items() if key != "OUTLAYERS_TRACEBACK"}
    return subprocess.run(
        [sys.executable, "-m", f"fairseq_cli.{command}", *map(str, options)],
        env={**inherited, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **environment},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def succeed(command, *options, **keywords):
    """Run a command that must end with exit code 0."""
    result = run(command, *options, **keywords)
    assert result.returncode == 0, result.stderr[-3000:]
    return result
