"""fairseq's commands as a user runs them."""

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.warm_server import run_python

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "fairseq_outlayers"


def run(command, *options, stdin="", timeout=180, fresh=False, **environment):
    """Run a command of fairseq's as its console script does; stdout and stderr as text.

    Args:
        fresh: whether in an interpreter of its own, for tests of what happens at imports and exits.
    """
    inherited = {key: value for key, value in os.environ.items() if key != "OUTLAYERS_TRACEBACK"}
    environment = {**inherited, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **environment}
    module, options = f"fairseq_cli.{command}", list(map(str, options))
    if not fresh:
        return run_python(["-m", module, *options], stdin, timeout, environment=environment)
    return subprocess.run(
        [sys.executable, "-m", module, *options],
        env=environment,
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


def prepare(script, *options):
    """Run a program of data_prep that must succeed."""
    path = ROOT / "data_prep" / f"{script}.py"
    subprocess.run([sys.executable, path, *map(str, options)], check=True, capture_output=True)


def on_two_processes(command, *options, each=lambda rank: []):
    """Run a command in two processes of one group, as torchrun starts them; stdout of rank 0.

    Args:
        each: further options of a rank.
    """
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    group = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": str(port),
             "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}  # fmt: skip

    def process(rank):
        own = [*options, *each(rank)]
        return succeed(command, *own, RANK=str(rank), LOCAL_RANK=str(rank), **group)

    with ThreadPoolExecutor(2) as pool:
        first, _ = pool.map(process, range(2))
    return first.stdout
