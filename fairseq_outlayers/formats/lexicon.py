"""Lexical tables, ``t(target word | source word)``: reading, counting, writing.

Tables are written in the format of fast_align's ``-p``: lines ``source TAB target TAB natural
logarithm``, grouped by source word, most probable first.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.output_file import OutputFile
from fairseq_outlayers.formats.text import read_lines

LONGEST_LINK = 40  # characters
EMPTY_WORD = {"fast_align": "<eps>", "lex": "NULL"}  # what fast_align and Moses call it


class Lexicon(NamedTuple):
    """A table as parallel arrays, one element per entry."""

    source_words: list[str]
    target_words: list[str]
    sources: np.ndarray  # indices into source_words
    targets: np.ndarray  # indices into target_words
    probabilities: np.ndarray

    def best(self, per_word: int | None = None) -> "Lexicon":
        """Entries sorted by source word, most probable first; at most ``per_word`` of each."""
        order = np.lexsort((self.targets, -self.probabilities, self.sources))
        sources = self.sources[order]
        if per_word is not None:
            _, starts, counts = np.unique(sources, return_index=True, return_counts=True)
            rank = np.arange(len(order)) - np.repeat(starts, counts)
            order = order[rank < per_word]
        return self.selected(order)

    def selected(self, chosen: np.ndarray) -> "Lexicon":
        """The entries of a mask, or of indices in their order."""
        entries = (self.sources[chosen], self.targets[chosen], self.probabilities[chosen])
        return Lexicon(self.source_words, self.target_words, *entries)

    def write(self, output: OutputFile) -> None:
        """Write entries with nonzero probability, in their order."""
        entries = zip(
            self.sources.tolist(), self.targets.tolist(), self.probabilities.tolist(), strict=True
        )
        for source, target, probability in entries:
            if probability > 0:
                words = f"{self.source_words[source]}\t{self.target_words[target]}"
                output.write_line(f"{words}\t{math.log(probability):.6g}")


def read_lexicon(path: Path, table_format: str) -> Lexicon:
    """Read a table in one of ``TABLE_FORMATS``, without entries of the empty word.

    Raises:
        UserError: if the file cannot be read, a line is not of that format or a pair's second one,
            or nothing is left.
    """
    parse, empty = TABLE_FORMATS[table_format], EMPTY_WORD[table_format]
    sources, targets = {}, {}  # type: dict[str, int], dict[str, int]
    entries: dict[tuple[int, int], float] = {}
    for number, line in enumerate(read_lines(path), start=1):
        try:
            source, target, probability = parse(line.split())
            if not 0 <= probability <= 1.001:
                raise ValueError
        except (ValueError, OverflowError):
            raise UserError(
                f"{path}:{number}: {line!r} is not a line of a {table_format} table; "
                f"expected {TABLE_LINES[table_format]}"
            ) from None
        if empty not in (source, target):
            pair = (
                sources.setdefault(source, len(sources)),
                targets.setdefault(target, len(targets)),
            )
            if pair in entries:
                raise UserError(
                    f"{path}:{number}: {source!r} and {target!r} a second time; keep one line"
                )
            entries[pair] = probability
    if not entries:
        raise UserError(f"{path}: no entries; build the table again")
    source_ids, target_ids = (np.array(side) for side in zip(*entries, strict=True))
    probabilities = np.array(list(entries.values()))
    return Lexicon(list(sources), list(targets), source_ids, target_ids, probabilities)


def _fast_align(columns: list[str]) -> tuple[str, str, float]:
    source, target, logarithm = columns
    if not math.isfinite(float(logarithm)):
        raise ValueError(logarithm)
    return source, target, math.exp(float(logarithm))


def _lex(columns: list[str]) -> tuple[str, str, float]:
    target, source, probability = columns
    return source, target, float(probability)


TABLE_FORMATS: dict[str, Callable[[list[str]], tuple[str, str, float]]] = {
    "fast_align": _fast_align,
    "lex": _lex,
}
TABLE_LINES = {
    "fast_align": "SOURCE TARGET LN(P)",
    "lex": "TARGET SOURCE P (Moses' and Marian's lex.s2t)",
}


def count_links(pairs: Iterable[Sequence[str]], links: Iterable[str], path: Path) -> Lexicon:
    """Relative frequencies of aligned words.

    Args:
        pairs: the lines of both sides.
        links: one line per sentence pair in Pharaoh's format, ``0-0 1-2``: source-target from 0.
        path: of the links, for error messages.
    Raises:
        UserError: if a link is malformed or outside its sentence.
    """
    sources, targets = {}, {}  # type: dict[str, int], dict[str, int]
    counts: dict[tuple[int, int], int] = {}
    for number, ((source, target), line) in enumerate(zip(pairs, links, strict=True), start=1):
        source_words, target_words = source.split(), target.split()
        for link in line.split():
            left, _, right = link.partition("-")
            if not (left.isdecimal() and right.isdecimal()) or len(link) > LONGEST_LINK:
                raise UserError(f"{path}:{number}: {link[:60]!r} is not a link SOURCE-TARGET")
            if int(left) >= len(source_words) or int(right) >= len(target_words):
                raise UserError(
                    f"{path}:{number}: link {link} is outside the sentence of {len(source_words)} "
                    f"source and {len(target_words)} target words; align the same files"
                )
            entry = (
                sources.setdefault(source_words[int(left)], len(sources)),
                targets.setdefault(target_words[int(right)], len(targets)),
            )
            counts[entry] = counts.get(entry, 0) + 1
    if not counts:
        raise UserError(f"{path}: no links; align the files again")
    left_ids, right_ids = (np.array(side) for side in zip(*counts, strict=True))
    frequencies = np.array(list(counts.values()), dtype=float)
    frequencies /= np.bincount(left_ids, frequencies)[left_ids]
    return Lexicon(list(sources), list(targets), left_ids, right_ids, frequencies)
