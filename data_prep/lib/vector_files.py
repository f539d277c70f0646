"""Readers of word vector files as a stream, with one block in memory."""

import gzip
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, Protocol

import numpy as np

from fairseq_outlayers.errors import UserError

BLOCK_WORDS = 4096
LONGEST_WORD = 10_000  # bytes; a longer one means that the file is not a word2vec binary
LONGEST_NUMBER = 64  # bytes, including the space before it
LONGEST_FIRST_LINE = 1 << 20  # bytes, while the dimensions are unknown
MOST_DIMENSIONS = 100_000
MOST_DIGITS = 20  # of a number in a header
END = -(2.0**-100)  # read after the numbers of a line; exact in float32, and no number of vectors


class Block(NamedTuple):
    """Consecutive words of a file."""

    words: list[str]  # "" if not UTF-8
    vectors: np.ndarray  # (words, dimensions), float32, finite


class VectorFile(Protocol):
    """An open file of word vectors."""

    dimensions: int

    def blocks(self) -> Iterator[Block]:
        """All words with their vectors; raises UserError if the file is invalid."""

    def compose(self, word: str) -> np.ndarray | None:
        """A vector for a word that is not in the file, or None."""


class ListedVectors:
    """Base class of files that list words: groups entries into blocks."""

    def __init__(self, path: Path, dimensions: int):
        self.path = path
        self.dimensions = dimensions

    def entries(self) -> Iterator[tuple[str, bytes, np.ndarray]]:
        """Location, word and vector of each entry."""
        raise NotImplementedError

    def blocks(self) -> Iterator[Block]:
        places: list[str] = []
        words: list[str] = []
        vectors = np.empty((BLOCK_WORDS, self.dimensions), np.float32)
        for place, word, vector in self.entries():
            vectors[len(words)] = vector
            places.append(place)
            words.append(_decoded(word))
            if len(words) == BLOCK_WORDS:
                yield checked_block(places, words, vectors)
                places, words = [], []
        if words:
            yield checked_block(places, words, vectors[: len(words)])

    def compose(self, word: str) -> np.ndarray | None:
        return None


class TextVectors(ListedVectors):
    """Text: a word and its numbers per line, with or without a header line."""

    def __init__(self, path: Path, has_header: bool):
        self.count = None
        first = _first_line(path)
        header = header_of(first, path)
        if has_header:
            if header is None:
                raise UserError(
                    f"{path}:1: {len(first.split())} fields, but a .vec file starts with its "
                    "numbers of words and dimensions; a GloVe file has no such line: pass "
                    "--format glove"
                )
            self.count, dimensions = header
        elif header is not None:
            raise UserError(
                f"{path}:1: {first.decode().strip()!r} is the header of a .vec file, and GloVe has "
                "none: pass --format vec"
            )
        else:
            dimensions = len(first.split()) - 1
        check_dimensions(dimensions, f"{path}:1")
        super().__init__(path, dimensions)

    def entries(self) -> Iterator[tuple[str, bytes, np.ndarray]]:
        number = 0
        first_line = 1 if self.count is None else 2
        with open_vectors(self.path) as file:
            if self.count is not None:
                file.readline()
            elif file.read(len(BOM_UTF8)) != BOM_UTF8:
                file.seek(0)
            for number, line in enumerate(self._lines(file), start=1):
                place = f"{self.path}:{number + first_line - 1}"
                if not line.endswith(b"\n"):
                    raise UserError(
                        f"{place}: no line end, so the file may be truncated within a "
                        "number: fetch it again, or add a line feed if it is complete"
                    )
                yield place, *self._parsed(line.strip(), place)
        if self.count is not None and number != self.count:
            raise UserError(
                f"{self.path}: {number:,} words, but its first line says {self.count:,}; the file "
                "is truncated or damaged: fetch it again"
            )

    def _lines(self, file: IO[bytes]) -> Iterator[bytes]:
        """The lines, with a bound on their length."""
        longest = LONGEST_WORD + self.dimensions * LONGEST_NUMBER
        while line := file.readline(longest):
            if len(line) == longest:
                raise UserError(
                    f"{self.path}: a line of more than {longest:,} bytes for "
                    f"{self.dimensions} numbers; the file is damaged"
                )
            yield line

    def _parsed(self, line: bytes, place: str) -> tuple[bytes, np.ndarray]:
        word, _, rest = line.partition(b" ")
        vector = _numbers(rest)
        if vector is not None and len(vector) == self.dimensions:
            return word, vector
        if not line:
            raise UserError(f"{place}: empty line; the file is damaged")
        # A few words of GloVe contain spaces; then the second field is not a number.
        *parts, rest = line.split(maxsplit=max(len(line.split()) - self.dimensions, 1))
        vector = _numbers(rest)
        spaced = all(_numbers(part) is None for part in parts[1:])
        if vector is not None and len(vector) == self.dimensions and spaced:
            return b" ".join(parts), vector
        found = len(line.split()) - 1
        raise UserError(
            f"{place}: expected a word and {self.dimensions} number(s), found {found} field(s) "
            f"after {_decoded(word)[:40]!r}{', not all numbers' * (found == self.dimensions)}: the "
            "line is damaged, the file has no word vectors, or --format is wrong"
        )


class BinaryVectors(ListedVectors):
    """word2vec's binary format: a header line; then word, space, numbers."""

    def __init__(self, path: Path):
        with open_vectors(path) as file:
            header = header_of(file.readline(LONGEST_WORD), path)
        if header is None:
            raise UserError(
                f"{path}: does not start with the numbers of words and dimensions, so it is not "
                "a word2vec binary: check --format"
            )
        self.count, dimensions = header
        check_dimensions(dimensions, str(path))
        super().__init__(path, dimensions)

    def entries(self) -> Iterator[tuple[str, bytes, np.ndarray]]:
        size = 4 * self.dimensions
        with open_vectors(self.path) as file:
            file.readline()
            buffer, start = b"", 0
            for number in range(1, self.count + 1):
                place = f"{self.path}: word {number:,} of {self.count:,}"
                while (end := buffer.find(b" ", start)) < 0 or len(buffer) < end + 1 + size:
                    if end < 0 and len(buffer) - start > LONGEST_WORD:
                        raise UserError(f"{place}: no end of the word; the file is damaged")
                    more = file.read(1 << 20)
                    if not more:
                        raise UserError(f"{place}: the file ends within it; fetch it again")
                    buffer, start = buffer[start:] + more, 0
                word = buffer[start:end].lstrip(b"\n")
                if b"\n" in word or b"\0" in word:
                    raise UserError(
                        f"{place}: {word[:40]!r} is no word, because the file does not have "
                        f"{self.dimensions:,} number(s) for each word as its first line says, or "
                        "is damaged: fetch it again"
                    )
                yield place, word, np.frombuffer(buffer, "<f4", self.dimensions, end + 1)
                start = end + 1 + size
            # gzip compares its checksum at the end of the file, after the last word.
            if (buffer[start:] + file.read(1 << 20)).strip(b"\n"):
                raise UserError(
                    f"{self.path}: continues after the {self.count:,} words of its first line; "
                    "that line is wrong or the file is damaged: fetch it again"
                )


@contextmanager
def open_vectors(path: Path) -> Iterator[IO[bytes]]:
    """The file, decompressed if its name ends in .gz.

    Raises:
        UserError: if there is no such file, or while reading, if it is no whole gzip file.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file; check --vectors")
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            yield file
    except EOFError:
        raise UserError(f"{path}: the compressed file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path}: not a compressed file, or damaged ({error})") from None


def _first_line(path: Path) -> bytes:
    with open_vectors(path) as file:
        return file.readline(LONGEST_FIRST_LINE).removeprefix(BOM_UTF8)


def check_dimensions(dimensions: int, place: str) -> None:
    """Raise UserError for an implausible number of dimensions."""
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise UserError(
            f"{place}: vectors of {dimensions:,} numbers, expected 1 to {MOST_DIMENSIONS:,}; is "
            "this a file of word vectors?"
        )


def header_of(line: bytes, path: Path) -> tuple[int, int] | None:
    """Numbers of words and dimensions, or None if the line is no header.

    Raises:
        UserError: if they are numbers of more than ``MOST_DIGITS`` digits.
    """
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    digits = max(map(len, fields))
    if digits > MOST_DIGITS:
        raise UserError(
            f"{path}:1: a number of {digits:,} digits, where the numbers of words and dimensions "
            "belong; is this a file of word vectors?"
        )
    return int(fields[0]), int(fields[1])


def _numbers(text: bytes) -> np.ndarray | None:
    """The numbers of a text, or None if it contains anything else."""
    try:
        read = np.fromstring(text + b" %r" % END, np.float32, sep=" ")
    except (ValueError, DeprecationWarning):
        return None
    # NumPy 2.2 stops at what is no number, and only warns: then it has not read END.
    return read[:-1] if len(read) and read[-1] == END else None


def _decoded(word: bytes) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def checked_block(places: list[str], words: list[str], vectors: np.ndarray) -> Block:
    """A block of finite vectors; raises UserError with the location of the first that is not."""
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(finite.argmin())
        raise UserError(
            f"{places[row]}: the vector of {words[row]!r} contains NaN or infinity; fix or remove "
            "it"
        )
    return Block(words, vectors)
