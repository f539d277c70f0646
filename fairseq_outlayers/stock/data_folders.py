"""Refuse data folders with different dictionaries.

Of several folders (``data-bin1:data-bin2``, one for each epoch in turn) the tasks of fairseq read
the dictionaries of the first one only, so the others' texts become other words without an error.
The check runs right after the command line is parsed (``patches/conveniences/option_hints.py``).
"""

from pathlib import Path
from typing import Any

from fairseq import utils

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import DictionaryFile


def check_data_folders(options: Any) -> None:
    """Compare the dictionaries of several data folders.

    Raises:
        UserError: for the first that differs from the one of the same name in the first folder.
    """
    data = getattr(options, "data", None)
    if not isinstance(data, str) or not data:
        return
    first, *others = map(Path, utils.split_paths(data))
    for own in sorted(first.glob("dict.*txt")) if others else ():
        symbols = DictionaryFile.read(own).symbols
        for folder in others:
            other = folder / own.name
            if other.is_file() and DictionaryFile.read(other).symbols != symbols:
                raise UserError(
                    f"{other}: another dictionary than {own}, and all data folders must have the "
                    "same: binarize the text again with it (fairseq-preprocess --srcdict, "
                    "--tgtdict)"
                )
