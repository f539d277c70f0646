"""Identity of a dictionary: the checksum of its words, and its file."""

import re
import zlib
from typing import Any, Optional

CHECKSUM_BITS = 32
PADDING_WORD = re.compile(r"madeupword\d{4,}")
# Set by patches/required/dictionary_file.py; fairseq forgets the path.
FILE_ATTRIBUTE = "file_read"


def fingerprint(dictionary: Any) -> int:
    """Number of symbols and checksum of all of them, in order, in one integer.

    Every symbol counts, the ``madeupword`` padding too: each has a row of weights.
    """
    checksum = zlib.crc32("\n".join(dictionary.symbols).encode("utf-8", "surrogatepass"))
    # Up to 2**31 symbols in all may be added up by checkpoint averaging before 63 bits are full.
    return (len(dictionary.symbols) << CHECKSUM_BITS) | checksum


def file_of(dictionary: Any) -> Optional[str]:
    """The path that the dictionary was read from; None if it was made in memory."""
    return getattr(dictionary, FILE_ATTRIBUTE, None)


def is_padding_word(word: str) -> bool:
    """Whether it is one of those by which fairseq rounds the size of a dictionary up."""
    return PADDING_WORD.fullmatch(word) is not None
