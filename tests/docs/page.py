"""The blocks of code of a page, and a shell that runs them."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.docs.server import COMMANDS

ROOT = Path(__file__).parents[2]
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
        folder: for the socket and the programs that stand for the commands.
        environment: added to that of the tests.
    """

    def __init__(self, folder: Path, **environment: str):
        self.programs = folder / "bin"
        self.programs.mkdir(parents=True)
        path = folder / "socket"
        client = Path(__file__).with_name("client.py")
        for name in COMMANDS:
            program = self.programs / name
            program.write_text(
                f'#!/bin/sh\nexec {sys.executable} -SE {client} {path} {name} "$@"\n'
            )
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
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tests.docs.server", path],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.server.stdout.readline() == b"ready\n"

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

    def close(self) -> None:
        """End the warm process and what it still runs."""
        self.server.stdin.close()
        os.killpg(self.server.pid, signal.SIGTERM)
        self.server.wait()
