"""Read text files strictly, by lines and by words.

Lines end only at "\\n": ``str.splitlines`` would also split at U+0085 and U+2028 and misalign a
parallel corpus. A "\\r" before "\\n" (files from Windows) and a byte order mark at the start of a
file are dropped.
"""

import io
import re
import sys
from codecs import BOM_UTF8
from pathlib import Path
from typing import Iterator, List, Optional, Sequence, Tuple, Union

from fairseq_outlayers.errors import UserError

BOM = BOM_UTF8.decode()  # the byte order mark in decoded text
OTHER_SPACE = re.compile(r"[^\S ]")  # white space that is no space
OTHER_SPACE_BUT_TAB = re.compile(r"[^\S \t]")


def escape_unprintable_words() -> None:
    """Print words that the terminal's encoding lacks by their code points, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def read_lines(path: Union[str, Path]) -> Iterator[str]:
    """The lines of a UTF-8 text file, without line ends.

    Raises:
        UserError: if the file cannot be read, or has a byte that is not UTF-8.
    """
    path = Path(path)
    if not path.exists():
        raise UserError(f"{path}: no such file; check the path")
    if path.is_dir():
        raise UserError(f"{path}: is a directory, but a text file is needed")
    if path.is_fifo():  # some files are read twice
        raise UserError(f"{path}: is a pipe; write it to a file first")
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(file, start=1):
                raw = raw.removesuffix(b"\n").removesuffix(b"\r")
                yield _decode(raw.removeprefix(BOM_UTF8) if number == 1 else raw, path, number)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error


def _decode(raw: bytes, path: Path, number: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}:{number}: not UTF-8: byte 0x{raw[error.start]:02x} at byte "
            f"{error.start + 1} of the line; convert the file with iconv -t UTF-8"
        ) from None


def read_words(path: Union[str, Path], separator: Optional[str] = None) -> Iterator[List[str]]:
    """The words of each line.

    Args:
        path: UTF-8 text.
        separator: between words; any white space by default.
    Raises:
        UserError: as :func:`read_lines`.
    """
    return (line.split(separator) for line in read_lines(path))


def read_parallel_words(reference: str, other: str) -> List[List[str]]:
    """The words of each line of ``other``, which must have as many lines as ``reference``.

    Raises:
        UserError: as :func:`count_parallel_lines`.
    """
    count_parallel_lines([Path(other), Path(reference)])
    return list(read_words(other))


def count_lines(path: Path) -> int:
    """Number of lines, after reading the whole file strictly; UserError if it is empty."""
    count = sum(1 for _ in read_lines(path))
    if not count:
        raise UserError(f"{path}: empty file, 0 lines; write it again or leave it out")
    return count


def count_parallel_lines(paths: Sequence[Path]) -> int:
    """The common number of lines of all files, after reading them strictly.

    Raises:
        UserError: if a file is empty, unreadable or not UTF-8, or if line counts differ.
    """
    counts = {path: count_lines(path) for path in paths}
    shortest, longest = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
    if counts[shortest] != counts[longest]:
        raise UserError(
            f"{shortest}:{counts[shortest]}: last of {counts[shortest]:,} lines, but {longest} "
            f"has {counts[longest]:,}; line n of every file must belong to the same sentence"
        )
    return counts[shortest]


def read_parallel(paths: Sequence[Path]) -> Iterator[Tuple[str, ...]]:
    """Tuples of line n of every file, for files of equal length."""
    return zip(*map(read_lines, paths), strict=True)
