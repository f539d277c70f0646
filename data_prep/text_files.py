"""Strict reading and atomic writing of text files, shared by the data preparation commands.

Lines end at "\\n" and nowhere else: ``str.splitlines`` would also split at U+0085 and U+2028 and
put a parallel corpus out of step. A "\\r" before the "\\n" (a file from Windows) and a byte order
mark at the start of a file are dropped on reading. On writing, a "\\r" inside a line is refused,
because fairseq reads text with universal newlines and would count two lines.
"""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from common import UserError


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 text file, without line ends.

    Raises:
        UserError: if the file is missing, a directory, or has a byte that is not UTF-8.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file; check the path")
    if path.is_dir():
        raise UserError(f"{path}: is a directory, but a text file is needed")
    with open(path, "rb") as file:
        for number, raw in enumerate(file, start=1):
            raw = raw.removesuffix(b"\n").removesuffix(b"\r")
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}:{number}: not UTF-8: byte 0x{raw[error.start]:02x} at byte "
                    f"{error.start + 1} of the line; convert the file with iconv -t UTF-8"
                ) from None


def count_lines(path: Path) -> int:
    """Number of lines, after reading the whole file strictly; UserError if it has none."""
    count = sum(1 for _ in read_lines(path))
    if not count:
        raise UserError(f"{path}: empty file, 0 lines; write it again or leave it out")
    return count


def count_parallel_lines(paths: Sequence[Path]) -> int:
    """Number of lines that all files share, after reading them strictly.

    Raises:
        UserError: if a file is empty, unreadable or not UTF-8, or if line counts differ.
    """
    counts = {path: count_lines(path) for path in paths}
    shortest, longest = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
    if counts[shortest] != counts[longest]:
        raise UserError(
            f"{shortest}:{counts[shortest]}: last of {counts[shortest]:,} lines, but {longest} "
            f"has {counts[longest]:,}; line n of each file must translate line n of the other"
        )
    return counts[shortest]


def read_parallel(paths: Sequence[Path]) -> Iterator[tuple[str, ...]]:
    """Line n of every file, for each n; the files have been counted before."""
    return zip(*map(read_lines, paths), strict=True)


class OutputFile:
    """A file being written under a temporary name; counts its lines and tokens."""

    def __init__(self, path: Path):
        self.path = path
        self.lines = 0
        self.tokens = 0
        # Through a link we write the file that it names. Same directory: renaming is then atomic.
        self.target = Path(os.path.realpath(path))
        if self.target.exists() and not self.target.is_file():
            raise UserError(f"{path}: exists and is not a regular file; name another output")
        existing = next(d for d in self.target.parents if d.exists())
        if not existing.is_dir():
            raise UserError(f"{existing}: is a file, but {path} needs a directory; name another")
        self.missing = [d for d in self.target.parents if not d.exists()]
        self.target.parent.mkdir(parents=True, exist_ok=True)
        name = f".{self.target.name}.{secrets.token_hex(4)}.partial"
        self.temporary = self.target.parent / name
        try:
            self.file = open(self.temporary, "xb")  # noqa: SIM115 (closed by write_together)
        except OSError:
            self._remove_directories()
            raise

    def write(self, data: bytes) -> None:
        """Write bytes that end at the end of a line (or all bytes of the file)."""
        with self._naming_errors():
            self.file.write(data)
        self.lines += data.count(b"\n")
        self.tokens += len(data.split())

    def write_line(self, text: str) -> None:
        """Write one line of UTF-8 text."""
        if "\n" in text or "\r" in text:
            raise ValueError(f"{self.path}:{self.lines + 1}: line end inside a line: {text!r}")
        self.write(text.encode("utf-8") + b"\n")

    def finish(self) -> None:
        """Make sure that the bytes are on the disk."""
        with self._naming_errors():
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()

    def discard(self) -> None:
        """Remove the temporary file and the directories that were made for it."""
        with suppress(OSError):  # closing flushes, which fails again on a full disk
            self.file.close()
        self.temporary.unlink(missing_ok=True)
        self._remove_directories()

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # a full disk, say: such errors carry no file name
            raise UserError(f"{self.path}: cannot be written: {error.strerror}") from error

    def _remove_directories(self) -> None:
        for directory in self.missing:
            with suppress(OSError):  # not empty: another output is in it
                directory.rmdir()


@contextmanager
def write_together(
    paths: Sequence[Path], inputs: Sequence[Path] = ()
) -> Iterator[list[OutputFile]]:
    """Write a group of files that appear together when the block ends, or not at all.

    Args:
        paths: the files to write; their directories are made.
        inputs: files that must not be among them.
    Raises:
        UserError: if an output is also an input, or something that is not a regular file.
    """
    real_inputs = {os.path.realpath(path) for path in inputs}
    outputs: list[OutputFile] = []
    try:
        for path in paths:
            if os.path.realpath(path) in real_inputs:
                raise UserError(f"{path}: is also an input; name another output")
            outputs.append(OutputFile(path))
        yield outputs
        for output in outputs:
            output.finish()
        for output in outputs:
            os.replace(output.temporary, output.target)
    except BaseException:
        for output in reversed(outputs):
            output.discard()
        raise


def report_written(outputs: Sequence[OutputFile]) -> None:
    """Print the closing line: each file with its lines and tokens (whitespace-separated)."""
    described = (
        f"{output.path} ({output.lines:,} lines, {output.tokens:,} tokens)" for output in outputs
    )
    print("wrote " + ", ".join(described))
