"""The table of subword units of a dictionary's words, stored beside the dictionary.

Each line is a word, a tab, and its units separated by single spaces. fairseq's specials are not
listed: they are one unit each.
"""

from pathlib import Path
from typing import Dict, List, Union

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.output_file import OutputFile
from fairseq_outlayers.formats.text import read_lines

AGAIN = "build the table again with data_prep/build_subword_table.py"
SubwordTable = Dict[str, List[str]]


def table_path(dictionary_file: Union[str, Path], kind: str) -> Path:
    """``dict.de.txt -> morphs.de.txt``, in the same folder."""
    path = Path(dictionary_file)
    return path.with_name(f"{kind}.{path.name.removeprefix('dict.')}")


def write_subword_table(output: OutputFile, table: SubwordTable) -> None:
    """Write a table, in its order."""
    for word, units in table.items():
        output.write_line(f"{word}\t{' '.join(units)}")


def read_subword_table(path: Path) -> SubwordTable:
    """Read a table of :func:`write_subword_table`.

    Raises:
        UserError: if a word has no units or is repeated, or the file is not UTF-8.
    """
    table: SubwordTable = {}
    for number, line in enumerate(read_lines(path), start=1):
        word, _, units = line.partition("\t")
        if not all(units.split(" ")):
            raise UserError(
                f"{path}:{number}: the word {word!r} has no units, or an empty one; {AGAIN}"
            )
        if word in table:
            raise UserError(f"{path}:{number}: the word {word!r} is repeated; {AGAIN}")
        table[word] = units.split(" ")
    return table
