"""Files that list words with their vectors, read as a stream: no more than a block in memory."""

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
LONGEST_WORD = 10_000  # bytes; where none ends before, the file is no word2vec binary
LONGEST_NUMBER = 64  # bytes, the space before it included
LONGEST_FIRST_LINE = 1 << 20  # of a file whose dimensions are not known yet
MOST_DIMENSIONS = 100_000
MOST_DIGITS = 20  # of a number in a header


class Block(NamedTuple):
    """Consecutive words of a file."""

    words: list[str]  # "" for one that is not UTF-8
    vectors: np.ndarray  # (words, dimensions), float32, finite


class VectorFile(Protocol):
    """A file of word vectors, opened."""

    dimensions: int

    def blocks(self) -> Iterator[Block]:
        """All words with their vectors; UserError where the file is wrong."""

    def compose(self, word: str) -> np.ndarray | None:
        """A vector for a word that the file does not list, or None."""


class ListedVectors:
    """What files of listed words share: blocks, made of single words."""

    def __init__(self, path: Path, dimensions: int):
        self.path = path
        self.dimensions = dimensions

    def entries(self) -> Iterator[tuple[str, bytes, np.ndarray]]:
        """Where it stands, word and vector of each."""
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
    """Text: a word and its numbers a line, with a header line before or without."""

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
                        f"{place}: the line does not end, so the file may be cut short within a "
                        "number: fetch it again, or add a line feed if it is whole"
                    )
                yield place, *self._parsed(line.strip(), place)
        if self.count is not None and number != self.count:
            raise UserError(
                f"{self.path}: {number:,} words, but its first line says {self.count:,}; the file "
                "is cut short or damaged: fetch it again"
            )

    def _lines(self, file: IO[bytes]) -> Iterator[bytes]:
        """The lines, none of which is longer than a word and its numbers can be."""
        longest = LONGEST_WORD + self.dimensions * LONGEST_NUMBER
        with _damages_named(self.path):
            while line := file.readline(longest):
                if len(line) == longest:
                    raise UserError(
                        f"{self.path}: a line of more than {longest:,} bytes, and a word has "
                        f"{self.dimensions} numbers; the file is damaged"
                    )
                yield line

    def _parsed(self, line: bytes, place: str) -> tuple[bytes, np.ndarray]:
        word, _, rest = line.partition(b" ")
        vector = _numbers(rest)
        if vector is not None and len(vector) == self.dimensions:
            return word, vector
        if not line:
            raise UserError(f"{place}: an empty line; the file is damaged")
        # A few of GloVe's words contain spaces: what follows the first part is then no number.
        *parts, rest = line.split(maxsplit=max(len(line.split()) - self.dimensions, 1))
        vector = _numbers(rest)
        spaced = all(_numbers(part) is None for part in parts[1:])
        if vector is not None and len(vector) == self.dimensions and spaced:
            return b" ".join(parts), vector
        raise UserError(
            f"{place}: {len(line.split()) - 1} fields after {_decoded(word)[:40]!r}, expected "
            f"{self.dimensions} numbers; the line is damaged, or --format is not what the file is"
        )


class BinaryVectors(ListedVectors):
    """word2vec's binary format: a header line; then word, space, numbers."""

    def __init__(self, path: Path):
        with open(path, "rb") as file:
            header = header_of(file.readline(LONGEST_WORD), path)
        if header is None:
            raise UserError(
                f"{path}: does not start with the numbers of words and dimensions; it is no "
                "word2vec binary: check --format"
            )
        self.count, dimensions = header
        check_dimensions(dimensions, str(path))
        super().__init__(path, dimensions)

    def entries(self) -> Iterator[tuple[str, bytes, np.ndarray]]:
        size = 4 * self.dimensions
        with open(self.path, "rb") as file:
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
                yield place, word, np.frombuffer(buffer, "<f4", self.dimensions, end + 1)
                start = end + 1 + size


def open_vectors(path: Path) -> IO[bytes]:
    """The file, decompressed if its name ends in .gz."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; check --vectors")
    return gzip.open(path) if path.suffix == ".gz" else open(path, "rb")


def _first_line(path: Path) -> bytes:
    with open_vectors(path) as file, _damages_named(path):
        return file.readline(LONGEST_FIRST_LINE).removeprefix(BOM_UTF8)


@contextmanager
def _damages_named(path: Path) -> Iterator[None]:
    """What gzip and zlib raise, with the file's name."""
    try:
        yield
    except EOFError:
        raise UserError(f"{path}: the compressed file is cut short") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{path}: no compressed file, or a damaged one ({error})") from None


def check_dimensions(dimensions: int, place: str) -> None:
    """Raise a UserError for numbers of dimensions that no word vectors have."""
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise UserError(
            f"{place}: vectors of {dimensions:,} numbers, expected 1 to {MOST_DIMENSIONS:,}; is "
            "this a file of word vectors?"
        )


def header_of(line: bytes, path: Path) -> tuple[int, int] | None:
    """Numbers of words and dimensions, if that is what the line says.

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
    """The numbers of a text, or None if it has something else in it."""
    try:
        return np.fromstring(text, np.float32, sep=" ")
    except ValueError:
        return None


def _decoded(word: bytes) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def checked_block(places: list[str], words: list[str], vectors: np.ndarray) -> Block:
    """A block of finite vectors; UserError with the place of the first that is not."""
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(finite.argmin())
        raise UserError(
            f"{places[row]}: the vector of {words[row]!r} contains NaN or infinity; mend or remove "
            "it"
        )
    return Block(words, vectors)
