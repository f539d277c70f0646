"""The blocks of code of a page, and a shell that runs them."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.warm_server import socket_of_server

ROOT = Path(__file__).parents[2]
# Console scripts, and what they run.
SCRIPTS = {
    **{f"fairseq-{name}": f"fairseq_cli.{name}" for name in ("preprocess", "train", "generate")},
    "fairseq-interactive": "fairseq_cli.interactive",
    "fairseq-eval-lm": "fairseq_cli.eval_lm",
    "fairseq-hydra-train": "fairseq_cli.hydra_train",
    "ct2-fairseq-converter": "ctranslate2.converters.fairseq",
}
SHELL = ("", "bash")
SHOWN = ("text", "yaml", "json", "tsv")  # output and files, which a page shows and nothing runs


class Block(NamedTuple):
    """One block of code."""

    language: str
    code: str
    before: str  # the last line of text before it


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"(?ms)^```(\w*)\n(.*?)^```$", text)
    return [Block(m[1], m[2], text[: m.start()].rstrip().rpartition("\n")[2]) for m in found]


def is_fragment(block: Block) -> bool:
    """Whether the reader is to fill something in (`` ...``), or it sets everything up (make)."""
    return " ..." in block.code or block.code.startswith("make ")


class Shell:
    """Runs the blocks of pages; ``python`` and fairseq's commands are forks of a warm process.

    Args:
        folder: for the programs that stand for the commands.
        environment: added to that of the tests.
    """

    def __init__(self, folder: Path, **environment: str):
        self.programs = folder / "bin"
        self.programs.mkdir(parents=True)
        client = Path(__file__).with_name("client.py")
        fork = f"exec {sys.executable} -SE {client} {socket_of_server()}"
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
