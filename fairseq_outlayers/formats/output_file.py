"""Write one or more files, or a folder, atomically.

Lines end at "\\n". A "\\r" inside a line is refused, because fairseq reads text with universal
newlines and would count two lines.
"""

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from fairseq_outlayers.errors import UserError, require_new_path


class OutputFile:
    """A file being written under a temporary name; counts its lines and tokens."""

    def __init__(self, path: Path):
        self.path = path
        self.lines = 0
        self.tokens = 0
        # Links are followed, so that the temporary file is beside the real one.
        self.target = Path(os.path.realpath(path))
        if self.target.exists() and not self.target.is_file():
            raise UserError(f"{path}: exists and is not a regular file; name another output")
        existing = next(d for d in self.target.parents if d.exists())
        if not existing.is_dir():
            raise UserError(f"{existing}: is a file, but {path} needs a directory; name another")
        with _naming_errors(self.path):
            self.missing = _make_parents(self.target)
        self.temporary = _temporary(self.target)
        try:
            with _naming_errors(self.path):
                self.file = open(self.temporary, "xb")  # noqa: SIM115 (closed by write_together)
        except UserError:
            _remove_directories(self.missing)
            raise

    def write(self, data: bytes) -> None:
        """Write whole lines (or all bytes of the file)."""
        with _naming_errors(self.path):
            self.file.write(data)
        self.lines += data.count(b"\n")
        self.tokens += len(data.split())

    def write_line(self, text: str) -> None:
        """Write one line of UTF-8 text."""
        if "\n" in text or "\r" in text:
            raise ValueError(f"{self.path}:{self.lines + 1}: line end inside a line: {text!r}")
        self.write(text.encode("utf-8") + b"\n")

    def finish(self) -> None:
        """Flush to disk and close."""
        with _naming_errors(self.path):
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()

    def discard(self) -> None:
        """Remove the temporary file and the directories created for it."""
        with suppress(OSError):  # closing flushes, which fails on a full disk
            self.file.close()
        self.temporary.unlink(missing_ok=True)
        _remove_directories(self.missing)


@contextmanager
def _naming_errors(path: Path) -> Iterator[None]:
    """Name the output in system errors, which name the temporary file, or none (a full disk)."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error


@contextmanager
def write_together(
    paths: Sequence[Path], inputs: Sequence[Path] = ()
) -> Iterator[list[OutputFile]]:
    """Write files that appear together when the block ends, or not at all.

    Args:
        paths: the files to write; their directories are created.
        inputs: files that must not be among them.
    Raises:
        UserError: if an output is also an input, or not a regular file, or cannot be written.
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


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder, which is ``path`` when the block ends, or is removed on an error.

    Raises:
        UserError: if ``path`` exists, or the folder cannot be made.
    """
    require_new_path(path)
    with _naming_errors(path):
        missing = _make_parents(path)
    temporary = _temporary(path)
    try:
        with _naming_errors(path):
            temporary.mkdir()
        yield temporary
        os.rename(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        _remove_directories(missing)
        raise


def _make_parents(path: Path) -> list[Path]:
    """Make the directories above a path; returns those that were missing, the deepest first."""
    missing = [directory for directory in path.parents if not directory.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        _remove_directories(missing)
        raise
    return missing


def _temporary(path: Path) -> Path:
    """A name beside a path, so that renaming is atomic."""
    return path.parent / f".{path.name}.{secrets.token_hex(4)}.partial"


def _remove_directories(directories: Sequence[Path]) -> None:
    for directory in directories:
        with suppress(OSError):  # not empty: contains another output
            directory.rmdir()


def report_written(outputs: Sequence[OutputFile]) -> None:
    """Print each file with its numbers of lines and whitespace-separated tokens."""
    described = (
        f"{output.path} ({output.lines:,} lines, {output.tokens:,} tokens)" for output in outputs
    )
    print("wrote " + ", ".join(described))
