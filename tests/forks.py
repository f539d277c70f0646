"""What a fork of a warm process does to be as a fresh interpreter, and to end as one."""

import contextlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable


def take_streams(files: Iterable[int]) -> None:
    """Read and write these files as standard input, output and error."""
    for target, file in enumerate(files):
        os.dup2(file, target)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115


def exit_code(command: Callable[[], object]) -> int:
    """Run a command as its interpreter would, and say what that would exit with."""
    try:
        command()
        return 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        for child in multiprocessing.active_children():  # as at exit; loaders' workers wait for it
            child.terminate()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # `| head` has gone
                stream.flush()
