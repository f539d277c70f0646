"""Extraction of table rows from a word vector file, for the words of some texts."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from lib.back_off import other_forms
from lib.common import progress
from lib.coverage import BY_FORM, COMPOSED, NONE, OWN
from lib.vector_files import VectorFile

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import SPECIALS
from fairseq_outlayers.formats.external_table_writer import TableWriter

PADDING, END, UNKNOWN = 1, 2, 3


class Extraction:
    """Copies word vectors into the rows of a table.

    Args:
        vectors: the vector file.
        table: output.
        training: words of the training text, most frequent first.
    """

    def __init__(self, vectors: VectorFile, table: TableWriter, training: Sequence[str]):
        self.vectors = vectors
        self.table = table
        self.training = training
        self.rows = {symbol: row for row, symbol in enumerate((*SPECIALS, *training))}
        self.trained = len(self.rows)
        self.filled = bytearray(self.trained)  # which training words have a vector
        self.sources: dict[str, str] = {}  # source of the vectors of words not in the file
        self.skipped: Counter[str] = Counter()
        self.count = 0
        self.norm_sum = 0.0
        self.sums = np.zeros((2, vectors.dimensions))  # of vectors and of their squares

    def read(self, limit: int | None) -> None:
        """Copy all vectors; words not in the training text get new rows, in file order."""
        for words, vectors in progress(self._limited(limit), 0, "reading vectors", " blocks"):
            rows = list(map(self._row_for, words))
            used = [position for position, row in enumerate(rows) if row is not None]
            # Rows of training words are scattered; new rows are consecutive.
            for chosen in (
                [position for position in used if rows[position] < self.trained],
                [position for position in used if rows[position] >= self.trained],
            ):
                self.table.write_rows([rows[position] for position in chosen], vectors[chosen])
            self._count(vectors[used])
        self.skipped.update(getattr(self.vectors, "skipped", {}))
        if not self.count:
            raise UserError("the file of vectors has no usable word; check --vectors and --format")

    def add_other_forms(self, counts: Counter[str]) -> None:
        """Find back-off vectors for the words of a text."""
        for word in counts:
            if word in SPECIALS or word in self.sources or self.has_vector(word):
                continue
            form = next(filter(self.has_vector, other_forms(word)), None)
            if form is not None:
                vector = self.table.read_row(self.rows[form])
                self.sources[word] = BY_FORM
            else:
                vector = self.vectors.compose(word)
                self.sources[word] = NONE if vector is None else COMPOSED
            if vector is not None:
                self._write(self.rows.setdefault(word, len(self.rows)), vector)

    def add_shared_rows(self) -> dict[str, float]:
        """Write the rows of specials and of training words without a vector; returns norms."""
        mean = self.sums[0] / self.count
        deviation = np.sqrt(np.maximum(self.sums[1] / self.count - mean**2, 0))
        special_rows = {PADDING: 0 * mean, END: mean + deviation, UNKNOWN: mean, 0: mean}
        for row, vector in special_rows.items():
            self._write(row, vector)
        for row, word in enumerate(self.training, start=len(SPECIALS)):
            if self.source(word) == NONE:
                self._write(row, mean)
        return {
            "mean": round(self.norm_sum / self.count, 4),
            "unknown": round(float(np.linalg.norm(mean)), 4),
            "end": round(float(np.linalg.norm(mean + deviation)), 4),
        }

    def has_vector(self, word: str) -> bool:
        """Whether the file lists exactly this word."""
        row = self.rows.get(word)
        if row is None or row < len(SPECIALS) or word in self.sources:
            return False
        return row >= self.trained or bool(self.filled[row])

    def source(self, word: str) -> str:
        """How a word gets its vector."""
        return OWN if self.has_vector(word) else self.sources.get(word, NONE)

    def _write(self, row: int, vector: np.ndarray) -> None:
        self.table.write_rows([row], vector[None])

    def _limited(self, limit: int | None) -> Iterator[tuple[list[str], np.ndarray]]:
        left = limit
        for words, vectors in self.vectors.blocks():
            yield (words, vectors) if left is None else (words[:left], vectors[:left])
            if left is not None:
                left -= len(words)
                if left <= 0:
                    return

    def _row_for(self, word: str) -> int | None:
        """The row for a word's vector, or None if the word is unusable."""
        if word.split() != [word]:
            # fairseq splits sentences at all Unicode white space.
            self.skipped["not UTF-8" if not word else "contain white space"] += 1
            return None
        row = self.rows.get(word)
        if row is None:
            self.rows[word] = row = len(self.rows)
            return row
        if row < len(SPECIALS):
            self.skipped["fairseq's own symbols"] += 1
            return None
        if row >= self.trained or self.filled[row]:
            self.skipped["listed twice; the first is used"] += 1
            return None
        self.filled[row] = 1
        return row

    def _count(self, vectors: np.ndarray) -> None:
        exact = vectors.astype(np.float64)
        squares = exact**2
        self.count += len(exact)
        self.sums += np.stack([exact.sum(0), squares.sum(0)])
        self.norm_sum += float(np.sqrt(squares.sum(1)).sum())
