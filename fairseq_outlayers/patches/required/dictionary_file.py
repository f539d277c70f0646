"""Let a dictionary remember the file that it was read from.

fairseq's ``Dictionary.add_from_file`` (fairseq/data/dictionary.py) forgets it. What belongs to a
dictionary, a table of the subword units of its words for one, lies beside it; a model is given the
dictionary alone, by every task, and also when a checkpoint is used with data that were moved.

It also reads the whole file into a list of lines before it looks at the first one. Of 1.9 million
words, that is 180 MB for nothing; now the lines are read one by one.
"""

import functools
from typing import Any, Callable, Iterable

from fairseq.data import Dictionary

from fairseq_outlayers.formats.dictionary import FILE_ATTRIBUTE
from fairseq_outlayers.patches.replacing import MARK


def apply() -> None:
    """Wrap ``add_from_file``, to which ``load`` comes as well."""
    stock = Dictionary.add_from_file
    if not hasattr(stock, MARK):
        Dictionary.add_from_file = _remember(stock)


def _remember(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def add_from_file(self: Any, f: Any) -> Any:
        if isinstance(f, str):
            setattr(self, FILE_ATTRIBUTE, f)
        elif type(self)._load_meta is Dictionary._load_meta:  # which does not look at the lines
            f = _LineByLine(f)
        return stock(self, f)

    setattr(add_from_file, MARK, stock)
    return add_from_file


class _LineByLine:
    """A text file whose "list" of lines is read as it is walked through, once."""

    def __init__(self, file: Iterable[str]):
        self._file = file

    def readlines(self) -> "_LineByLine":
        return self

    def __getitem__(self, wanted: slice) -> Iterable[str]:
        assert wanted == slice(0, None)
        return self._file
