"""Subword units of a dictionary's words: read from a table, or characters."""

import zlib
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import checksum, file_of
from fairseq_outlayers.formats.subword_table import read_subword_table, table_path

MADE_HERE = ("syllables", "morphs")  # by data_prep/build_subword_table.py
MOST_UNITS = 1_000  # of a word; all rows are padded to the longest
PADDING = 0  # unit ids start at 1
# Around the characters of a word (Kim et al. 2016), to tell a prefix from an infix.
WORD_START, WORD_END = "<w>", "</w>"


class WordUnits(NamedTuple):
    """The units of every word of a dictionary, in its order.

    Attributes:
        ids: ``(V, L)``, units from 1 to ``num_units``, padded with ``PADDING``.
        symbols: the unit of id ``i`` is ``symbols[i - 1]``.
    """

    ids: Tensor
    symbols: List[str]

    @property
    def num_units(self) -> int:
        return len(self.symbols)

    @property
    def longest(self) -> int:
        """``L``, the units of the longest word."""
        return self.ids.size(1)

    def fingerprint(self) -> int:
        """CRC-32 of symbols and ids."""
        return zlib.crc32(self.ids.numpy().tobytes(), checksum(self.symbols))


def units_of_dictionary(dictionary: Any, kind: str) -> WordUnits:
    """The units of a dictionary's words, from the table beside it.

    Characters need no table. fairseq's specials are one unit each.

    Args:
        dictionary: the target dictionary; the table of ``dict.de.txt`` is ``morphs.de.txt``.
        kind: "characters", "syllables", "morphs", or one of a composition of your own.
    Raises:
        UserError: if the table is missing, damaged or belongs to another dictionary.
    """
    words = dictionary.symbols[dictionary.nspecial :]
    path, table = find_table(dictionary, kind)
    if path is not None:
        _check_covers(table, words, path, file_of(dictionary))
    elif kind == "characters":
        table = {word: list(word) for word in words}
    else:
        read_from = file_of(dictionary)
        where = "the dictionary was not read from a file"
        if read_from:
            where = f"{table_path(read_from, kind)}: no such file"
        raise UserError(
            f"{where}, so the {kind} of its words are not known; "
            + _remedy(kind, read_from or "DICT")
        )
    rows = [[word] for word in dictionary.symbols[: dictionary.nspecial]]
    rows += [table[word] for word in words]
    longest = max(range(len(rows)), key=lambda number: len(rows[number]))
    if len(rows[longest]) > MOST_UNITS:
        raise UserError(
            f"the word {dictionary.symbols[longest][:40]!r}... has {len(rows[longest]):,} {kind}, "
            f"and all words would be padded to that length (at most {MOST_UNITS:,}): remove such "
            "words from the text (data_prep/tokenize_corpus.py) and binarize it again"
        )
    if kind == "characters":
        rows = [mark_ends(row) for row in rows]
    return number_units(rows)


def _remedy(kind: str, dictionary: str) -> str:
    if kind in MADE_HERE:
        return (
            f"make the table with python data_prep/build_subword_table.py {dictionary} "
            f"--units {kind}"
        )
    return "write it: a line for each word, WORD<tab>UNIT UNIT (docs/formats.md)"


def find_table(dictionary: Any, kind: str) -> Tuple[Optional[Path], Dict[str, List[str]]]:
    """Path and content of the table beside a dictionary; ``(None, {})`` if there is none."""
    read_from = file_of(dictionary)
    path = table_path(read_from, kind) if read_from else None
    if path is None or not path.exists():
        return None, {}
    return path, read_subword_table(path)


def mark_ends(characters: List[str]) -> List[str]:
    """The characters of a word between the marks of its start and its end."""
    return [WORD_START, *characters, WORD_END]


def number_units(rows: Iterable[List[str]]) -> WordUnits:
    """Number units in the order of their first appearance."""
    numbers: Dict[str, int] = {}
    numbered = [[numbers.setdefault(unit, len(numbers) + 1) for unit in row] for row in rows]
    longest = max(map(len, numbered))
    filled = [units + [PADDING] * (longest - len(units)) for units in numbered]
    return WordUnits(torch.tensor(filled), list(numbers))


def _check_covers(
    table: Dict[str, List[str]], words: List[str], path: Path, dictionary_file: Optional[str]
) -> None:
    missing = [word for word in words if word not in table]
    if missing:
        raise UserError(
            f"{path}: lacks {len(missing):,} of the {len(words):,} words of {dictionary_file} "
            f"(the first: {missing[0]!r}), so it is the table of another dictionary; build it "
            "again with data_prep/build_subword_table.py"
        )
