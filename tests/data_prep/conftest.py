"""What the tests of data preparation share: running the commands and looking at folders."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DATA_PREP = Path(__file__).resolve().parents[2] / "data_prep"
# The commands are scripts that find their neighbours in their own folder; so do these tests.
sys.path.insert(0, str(DATA_PREP))


@pytest.fixture
def command(tmp_path):
    """Run ``data_prep/NAME.py ARGUMENT ...`` in ``tmp_path``; returns the finished process."""

    def run(name, *arguments, **options):
        environment = {k: v for k, v in os.environ.items() if k != "OUTLAYERS_DATA"}
        environment.update(options.pop("env", {}))
        return subprocess.run(
            [sys.executable, str(DATA_PREP / f"{name}.py"), *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            **options,
        )

    return run


@pytest.fixture
def contents(tmp_path):
    """A function that gives every file and folder under ``tmp_path`` with its bytes."""

    def snapshot():
        return {
            str(path.relative_to(tmp_path)): path.read_bytes() if path.is_file() else None
            for path in tmp_path.rglob("*")
        }

    return snapshot


@pytest.fixture
def one_error_line():
    """A function that checks for exit code 2 and one line on stderr, and returns that line."""

    def check(process):
        assert process.returncode == 2, process.stderr
        assert process.stdout == ""
        (line,) = process.stderr.splitlines()
        program = re.escape(Path(process.args[1]).name)
        assert re.match(rf"{program}( learn| apply)?: error: ", line)
        return line

    return check
