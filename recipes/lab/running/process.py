"""Run a fairseq command with a log file, a progress line, time and peak memory."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from recipes.lab.running import training_log

Begin = Callable[[str], list[str]]  # the beginning of a command, from its name


class Usage(NamedTuple):
    """Wall-clock seconds of a command, and megabytes of its largest process."""

    wall_seconds: float
    peak_rss_mb: float


def data_of(command: Sequence[str]) -> Path:
    """The data folder of a fairseq command, which may begin with ``env NAME=VALUE``."""
    programs = (n for n, word in enumerate(command) if Path(word).name.startswith("fairseq-"))
    return Path(command[next(programs) + 1])


LONGEST_LINE = 500  # of a log in a message


class CommandFailed(RuntimeError):
    """A command failed; the message has the end of its log."""

    def __init__(self, message: str, usage: Usage | None = None):
        super().__init__(message)
        self.usage = usage


class Progress:
    """A progress line on a terminal, updated every second; otherwise a line per epoch.

    A context manager; `feed` takes the lines of the log.
    """

    def __init__(self, title: str, epochs: int | None = None):
        self.title, self.epochs, self.stream = title, epochs, sys.stderr
        self.started = time.monotonic()
        self.terminal = self.stream.isatty()
        self.latest, self.perplexity = "starting", ""
        self.stopped = threading.Event()

    def __enter__(self) -> "Progress":
        if self.terminal:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        if self.terminal:
            self._write("\r\033[K")

    def feed(self, line: str) -> None:
        """Process a line of the log."""
        statistics = training_log.parse_line(line)
        if statistics is None:
            return
        values = statistics.values
        epoch = int(values.get("epoch", 0))
        name = f"epoch {epoch}/{self.epochs}" if self.epochs else f"epoch {epoch}"
        if statistics.tag == "valid":
            self.perplexity = f", validation perplexity {values.get('valid_ppl', 0):,.1f}"
            self.latest = f"{name} done{self.perplexity}"
            if not self.terminal:
                self._write(f"  {self._line()}\n")
        elif statistics.tag == "train_inner":
            share = min(max(values.get("update", 0) - (epoch - 1), 0), 1)
            speed = f"{values.get('wps', 0):,.0f} words/s"
            self.latest = f"{name}, {share:4.0%} of it, {speed}{self.perplexity}"

    def _line(self) -> str:
        seconds = int(time.monotonic() - self.started)
        return f"{self.title}: {self.latest} ({seconds // 60}:{seconds % 60:02d})"

    def _tick(self) -> None:
        while not self.stopped.wait(1):
            # A line wider than the terminal would wrap and could not be erased.
            width = os.get_terminal_size(self.stream.fileno()).columns or 80
            self._write(f"\r\033[K  {self._line()}"[: width + 3])

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


@contextmanager
def _started(
    command: Sequence[str], output: Path | None
) -> Iterator[tuple[subprocess.Popen, IO[bytes]]]:
    """Start a command as :func:`_start`; when we are stopped (SIGTERM), stop it, too."""
    process: subprocess.Popen | None = None
    stopped_by = 0

    def stop(signal_number: int, _: object) -> None:
        nonlocal stopped_by
        stopped_by = signal_number
        if process is not None:  # else it is about to start, and to be stopped
            raise SystemExit(128 + signal_number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        process, lines = _start(command, output)
        if stopped_by:
            raise SystemExit(128 + stopped_by)
        yield process, lines
    except BaseException:
        if process is not None:
            process.terminate()
            process.wait()
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _failure(command: Sequence[str], code: int, log: Path) -> str:
    # fairseq logs its whole configuration in one line.
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:]
    last = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ..." for line in lines]
    how = f"was ended by signal {-code}" if code < 0 else f"failed with code {code}"
    name = next(word for word in command if word != "env" and "=" not in word)
    return "\n".join([f"{name} {how}; the end of {log}:", *(f"  | {line}" for line in last)])


def _start(command: Sequence[str], output: Path | None) -> tuple[subprocess.Popen, IO[bytes]]:
    """Start a command; also returns its stderr, which has its stdout unless that has a file."""
    if output is None:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    else:
        with open(output, "wb") as sink:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.PIPE
            )
    lines = process.stdout or process.stderr
    assert lines is not None
    return process, lines


def run(
    command: Sequence[str],
    *,
    log: Path,
    output: Path | None = None,
    resume: bool = False,
    on_line: Callable[[str], None] = lambda line: None,
) -> Usage:
    """Run a command.

    Args:
        log: file for stderr, and for stdout unless `output` is given.
        output: file for stdout.
        resume: append to the log instead of overwriting it.
        on_line: called with every line of the log.
    Raises:
        CommandFailed: if the command fails.
    """
    started = time.monotonic()
    # The log is opened after the start: a command that is missing leaves that of the run before.
    with (
        _started(command, output) as (process, lines),
        lines,
        open(log, "ab" if resume else "wb") as log_file,
    ):
        for line in lines:
            log_file.write(line)
            log_file.flush()
            on_line(line.decode("utf-8", errors="replace"))
        # wait4 returns the resource usage of this process only.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    bytes_a_unit = 1 if sys.platform == "darwin" else 1024
    used = Usage(time.monotonic() - started, usage.ru_maxrss * bytes_a_unit / 2**20)
    if process.returncode:
        raise CommandFailed(_failure(command, process.returncode, log), used)
    return used
