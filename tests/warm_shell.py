"""A shell whose ``python`` and fairseq commands are forks of a warm process."""

import os
import subprocess
import sys
from pathlib import Path

from tests.warm_server import ROOT, socket_of_server

# Console scripts, and what they run.
SCRIPTS = {
    **{f"fairseq-{name}": f"fairseq_cli.{name}" for name in ("preprocess", "train", "generate")},
    "fairseq-interactive": "fairseq_cli.interactive",
    "fairseq-eval-lm": "fairseq_cli.eval_lm",
    "fairseq-hydra-train": "fairseq_cli.hydra_train",
    "ct2-fairseq-converter": "ctranslate2.converters.fairseq",
}


class Shell:
    """Runs scripts; Python and fairseq's commands are forks of a warm process.

    Args:
        folder: for the programs that stand for the commands.
        environment: added to that of the tests.
    """

    def __init__(self, folder: Path, **environment: str):
        self.programs = folder / "bin"
        self.programs.mkdir(parents=True)
        client = Path(__file__).with_name("warm_client.py")
        fork = f"exec {sys.executable} -SE {client} {socket_of_server()} {self.programs}/python"
        for name, module in {"python": None, **SCRIPTS}.items():
            program = self.programs / name
            run = fork if module is None else f"{fork} -m {module}"
            program.write_text(f'#!/bin/sh\n{run} "$@"\n')
            program.chmod(0o755)
        beside = Path(sys.executable).parent
        self.environment = {
            **os.environ,
            "PATH": f"{self.programs}:{beside}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTHONUTF8": "1",
            "OUTLAYERS_PYTHON": f"{self.programs}/python",
            "OMP_NUM_THREADS": "1",
            **environment,
        }

    def run(self, script: str, folder: Path, timeout: int = 300) -> str:
        """Run a script that must succeed, command by command; what it printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout[-4000:]}"
        return done.stdout
