"""What the command lines of data preparation share: arguments, errors as lines, progress.

The commands are scripts run by path (``python data_prep/NAME.py``), so this module is imported
as ``common``: Python puts a script's own folder first on its search path. Importing it puts this
checkout's ``fairseq_outlayers`` next, whose ``formats`` the commands share with the package.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn, TextIO, TypeVar

from tqdm import tqdm

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from fairseq_outlayers.errors import UserError, changes_nothing

Item = TypeVar("Item")
tqdm.monitor_interval = 0  # no thread of its own: a process with threads should not fork
QUIET_SECONDS = 20.0  # off a terminal, progress is shown only after, and every, so many seconds


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose errors take one line on stderr, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (--help shows an example)\n")


def run(main: Callable[[], None]) -> None:
    """Call ``main``; turn user errors into one line on stderr and exit code 2.

    SIGTERM becomes ``SystemExit``, so that temporary files are removed as after any other error.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        main()
        return
    except UserError as error:
        message = str(error)
    except OSError as error:
        message = ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"{os.path.basename(sys.argv[0])}: error: {message}", file=sys.stderr)
    sys.exit(2)


def up_to(most: int) -> Callable[[str], int]:
    """An argparse type: a whole number from 1 to ``most``."""

    def whole_number(text: str) -> int:
        if not text.isdecimal() or len(text) > 20 or int(text) < 1:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
        if int(text) > most:
            raise argparse.ArgumentTypeError(f"{text} is more than {most:,}")
        return int(text)

    return whole_number


positive_int = up_to(1_000_000_000)
worker_count = up_to(1_000)


def refuse_idle(options: argparse.Namespace, acts: bool, where: str, *names: str) -> None:
    """Refuse options that would change nothing.

    Args:
        acts: whether they change anything.
        where: they do not, in words.
        names: of options that are None unless they are given.
    Raises:
        UserError: if one of them is given all the same.
    """
    for name in names:
        value = getattr(options, name.replace("-", "_"))
        if value is not None and not acts:
            raise changes_nothing(name, value, where, "leave it out")


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--input``, ``--output`` and ``--languages``, which name files PREFIX.LANGUAGE."""
    parser.add_argument("--input", required=True, metavar="PREFIX", help="read PREFIX.LANGUAGE")
    parser.add_argument("--output", required=True, metavar="PREFIX", help="write PREFIX.LANGUAGE")
    parser.add_argument(
        "--languages", required=True, nargs="+", metavar="LANGUAGE", help="for example: en de"
    )


def language_files(prefix: str, languages: Sequence[str]) -> list[Path]:
    """``PREFIX.LANGUAGE`` for each language; raises UserError when a language is named twice."""
    for position, language in enumerate(languages):
        if language in languages[:position]:
            raise UserError(f"--languages names {language!r} twice; name each language once")
    return [Path(f"{prefix}.{language}") for language in languages]


def input_files(prefix: str, languages: Sequence[str]) -> list[Path]:
    """:func:`language_files` of ``--input``; raises UserError when it names one of them whole."""
    files = language_files(prefix, languages)
    stem, _, language = prefix.rpartition(".")
    if language in languages and Path(prefix).is_file() and not files[0].exists():
        raise UserError(
            f"--input {prefix}: a file; give the part before the language's name: --input {stem}"
        )
    return files


def progress(
    items: Iterable[Item],
    total: int,
    what: str,
    unit: str = " lines",
    file: TextIO | None = None,
) -> Iterable[Item]:
    """Show progress on stderr (or ``file``): on a terminal, or anywhere when the work is long."""
    file = file or sys.stderr
    delay, interval = (0.3, 0.1) if file.isatty() else (QUIET_SECONDS, QUIET_SECONDS)
    return tqdm(
        items,
        what,
        total,
        unit=unit,
        delay=delay,
        mininterval=interval,
        leave=False,
        file=file,
        unit_scale=True,
    )
