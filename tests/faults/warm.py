"""Commands in children of a warm process: everything is imported once, a case takes a fork.

A child sees its own files, its own arguments and the handlers of a fresh interpreter; what it
prints and how it ends comes back as an :class:`Outcome`.
"""

import gc
import importlib
import logging
import os
import resource
import runpy
import selectors
import shlex
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.forks import exit_code, take_streams

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "fairseq_outlayers"
DATA_PREP = ROOT / "data_prep"
MEMORY = 3 << 30  # bytes that a child may add to what the warm process has
LATE = ("torch._dynamo", "tensorboardX", "sacrebleu")  # imported when a command is under way
FAIRSEQ = ("preprocess", "train", "generate", "interactive", "validate", "eval_lm")


class Outcome(NamedTuple):
    """How a command ended."""

    code: int  # as a shell has it, without the signals
    signal: int  # that killed it, or 0
    out: str
    err: str
    seconds: float

    @property
    def kind(self) -> str:
        """One of accepted, clear (one line), traceback, hang, killed and unclear."""
        if self.signal:
            return "hang" if self.signal == signal.SIGALRM else "killed"
        if self.code == 0:
            return "accepted"
        if "Traceback (most recent call last)" in self.err:
            return "traceback"
        return "clear" if len(self.errors) == 1 else "unclear"

    @property
    def errors(self) -> list:
        """The lines that name an error."""
        lines = self.err.splitlines()
        return [line for line in lines if line.startswith("error: ") or ": error: " in line]


def warm_up() -> None:
    """Import what the commands need, before the first fork."""
    import fairseq_outlayers.__main__

    assert fairseq_outlayers.__main__
    for name in FAIRSEQ:
        importlib.import_module(f"fairseq_cli.{name}")
    for name in LATE:
        importlib.import_module(name)
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    # The parser of overrides keeps what it has learnt of its grammar: most of what a start costs.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = ["data", "--arch", "luong_lstm"]
        parsed = options.parse_args_and_arch(options.get_training_parser(), arguments)
        convert_namespace_to_omegaconf(parsed)
    gc.freeze()  # no child goes through what is there already


def run(
    line: str,
    seconds: int = 60,
    folder: Path | None = None,
    stdin: str = "",
    before: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run ``COMMAND ARGUMENT ...`` in a fork.

    Args:
        line: the command is one of ``FAIRSEQ``, ``outlayers`` (``python -m fairseq_outlayers``) or
            the name of a script in ``data_prep/``; arguments are quoted as for a shell.
        seconds: after so many it counts as a hang.
        folder: to run in.
        stdin: what it reads.
        before: is called in the fork, to arrange a fault.
    """
    # Pipes, not files: a case may forbid files to grow.
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    started = time.monotonic()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:  # whatever happens, the child must not go on as its parent
            _become(out_end, err_end, seconds, folder, stdin)
            before()
            command, *arguments = shlex.split(line)
            code = exit_code(lambda: _call(command, arguments))
        finally:
            os._exit(code)
    os.close(out_end)
    os.close(err_end)
    texts = _read_both(out, err)
    _, status = os.waitpid(child, 0)
    took = time.monotonic() - started
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return Outcome(0 if killed else os.WEXITSTATUS(status), killed, *texts, took)


def _read_both(*ends: int) -> list[str]:
    """What comes out of pipes until they are closed."""
    found: dict[int, list] = {end: [] for end in ends}
    with selectors.DefaultSelector() as selector:
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                if data := os.read(key.fd, 1 << 16):
                    found[key.fd].append(data)
                else:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [b"".join(parts).decode("utf-8", "replace") for parts in found.values()]


def _become(out: int, err: int, seconds: int, folder: Path | None, stdin: str) -> None:
    """Give the child its files, its limits and the handlers of a fresh interpreter."""
    text = tempfile.TemporaryFile()  # noqa: SIM115 - the child ends with it
    text.write(stdin.encode())
    text.seek(0)
    take_streams((text.fileno(), out, err))
    for handler in list(logging.root.handlers):
        logging.root.removeHandler(handler)
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, force=True)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGALRM, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.alarm(seconds)
    if folder is not None:
        os.chdir(folder)


def _call(command: str, arguments: list) -> None:
    if command == "outlayers":
        from fairseq_outlayers.__main__ import main

        sys.argv = ["python -m fairseq_outlayers", *arguments]
        sys.exit(main(arguments))
    if command in FAIRSEQ:
        sys.argv = [f"fairseq-{command}", *arguments]
        importlib.import_module(f"fairseq_cli.{command}").cli_main()
        return
    script = str(DATA_PREP / f"{command}.py")
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(DATA_PREP))
    runpy.run_path(script, run_name="__main__")
