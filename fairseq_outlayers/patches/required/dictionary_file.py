"""Store the path of a dictionary's file in the dictionary.

fairseq's ``Dictionary.add_from_file`` (fairseq/data/dictionary.py) does not. Files that belong to a
dictionary, such as a table of subword units, are beside it, but tasks pass only the dictionary to a
model, and data may have moved since training.

It also reads all lines into a list first: 180 MB for 1.9 million words. With the patch, lines are
read one by one, and a byte order mark is no part of the first word, as in our own readers
(``formats/text.py``).
"""

from typing import Any, Callable, Iterable, Iterator

from fairseq.data import Dictionary

from fairseq_outlayers.formats.dictionary import FILE_ATTRIBUTE
from fairseq_outlayers.formats.text import BOM
from fairseq_outlayers.patches.replacing import replaces


# ``load`` uses it, too.
@replaces(Dictionary, "add_from_file")
def _remember(stock: Callable[..., Any], self: Any, f: Any) -> Any:
    if isinstance(f, str):
        setattr(self, FILE_ATTRIBUTE, f)
    elif type(self)._load_meta is Dictionary._load_meta:  # which does not use the lines
        f = _LineByLine(f)
    return stock(self, f)


class _LineByLine:
    """A text file whose list of lines is read lazily, once."""

    def __init__(self, file: Iterable[str]):
        self._file = file

    def readlines(self) -> "_LineByLine":
        return self

    def __getitem__(self, wanted: slice) -> Iterable[str]:
        assert wanted == slice(0, None)
        return self._without_mark()

    def _without_mark(self) -> Iterator[str]:
        lines = iter(self._file)
        for first in lines:
            yield first.removeprefix(BOM)
            yield from lines
