"""Arguments, one-line errors and progress of the commands."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar

from fairseq_outlayers.errors import UserError, changes_nothing
from fairseq_outlayers.formats.text import escape_unprintable_words
from fairseq_outlayers.suggestions import HelpfulParser, between

Item = TypeVar("Item")
QUIET_SECONDS = 20.0  # if not a terminal, show progress only after, and every, so many seconds


class CommandParser(HelpfulParser):
    """An argument parser of a command whose help has an example, not wrapped."""

    ending = " (--help shows an example)"

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)


def run(main: Callable[[], None]) -> None:
    """Call ``main``; print user errors in one line on stderr and exit with code 2.

    SIGTERM becomes ``SystemExit``, so that temporary files are removed as after other errors.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    escape_unprintable_words()
    try:
        main()
        return
    except UserError as error:
        message = str(error)
    except ModuleNotFoundError as error:
        message = (
            f"the Python package {error.name} is missing: install it, or activate the environment "
            "of `make setup`"
        )
    except OSError as error:
        message = ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)
    except MemoryError as error:
        reason = str(error) or "an allocation failed"
        message = f"out of memory: {reason}; give it less text at a time"
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"{os.path.basename(sys.argv[0])}: error: {message}", file=sys.stderr)
    sys.exit(2)


positive_int = between(1, 1_000_000_000)
worker_count = between(1, 1_000)


def refuse_unless(options: argparse.Namespace, acts: bool, where: str, *names: str) -> None:
    """Reject options without effect.

    Args:
        acts: whether they have an effect.
        where: the situation in which they have none, for the message.
        names: of options whose default is None.
    Raises:
        UserError: if one of them is given but has no effect.
    """
    for name in names:
        value = getattr(options, name.replace("-", "_"))
        if value is not None and not acts:
            raise changes_nothing(name, value, where, "leave it out")


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--input``, ``--output`` and ``--languages``, for files PREFIX.LANGUAGE."""
    parser.add_argument("--input", required=True, metavar="PREFIX", help="read PREFIX.LANGUAGE")
    parser.add_argument("--output", required=True, metavar="PREFIX", help="write PREFIX.LANGUAGE")
    parser.add_argument(
        "--languages", required=True, nargs="+", metavar="LANGUAGE", help="for example: en de"
    )


def language_files(prefix: str, languages: Sequence[str]) -> list[Path]:
    """``PREFIX.LANGUAGE`` for each language; raises UserError if a language is given twice."""
    for position, language in enumerate(languages):
        if language in languages[:position]:
            raise UserError(f"--languages names {language!r} twice; name each language once")
    return [Path(f"{prefix}.{language}") for language in languages]


def input_files(prefix: str, languages: Sequence[str]) -> list[Path]:
    """:func:`language_files` of ``--input``; raises UserError if it is the full name of one."""
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
    """Show progress on stderr (or ``file``); if that is no terminal, only for long operations."""
    from tqdm import tqdm  # if it is missing, run() says so

    tqdm.monitor_interval = 0  # no monitor thread: a process with threads should not fork
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
