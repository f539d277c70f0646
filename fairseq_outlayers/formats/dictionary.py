"""fairseq's dictionaries: the file ``dict.txt`` and a checksum."""

import re
import zlib
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import numpy as np

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.output_file import OutputFile
from fairseq_outlayers.formats.text import read_lines

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")  # the first symbols of every dictionary
CHECKSUM_BITS = 32
MOST_DIGITS = 18  # of a count, which then fits 64 bits
OVERWRITE = " #fairseq:overwrite"  # allows a word that is there already
PADDING_WORD = re.compile(r"madeupword\d{4,}")
# Set by patches/required/dictionary_file.py; fairseq does not store the path.
FILE_ATTRIBUTE = "file_read"


def fingerprint(dictionary: Any) -> int:
    """Number and CRC-32 of all symbols in order, in one integer.

    Includes ``madeupword`` padding: it has rows of weights, too.
    """
    # fairseq's average_checkpoints.py sums them: 63 bits suffice for 2**31 symbols in total.
    return (len(dictionary.symbols) << CHECKSUM_BITS) | checksum(dictionary.symbols)


def number_of_symbols(fingerprint: int) -> int:
    """The number of symbols in a :func:`fingerprint`."""
    return fingerprint >> CHECKSUM_BITS


def checksum(symbols: Sequence[str]) -> int:
    """CRC-32 of symbols joined by line feeds."""
    return zlib.crc32("\n".join(symbols).encode("utf-8", "surrogatepass"))


def file_of(dictionary: Any) -> Optional[str]:
    """The path that the dictionary was read from; None if it was built in memory."""
    return getattr(dictionary, FILE_ATTRIBUTE, None)


def is_padding_word(word: str) -> bool:
    """Whether it is a ``madeupword``, by which fairseq pads dictionaries to a multiple."""
    return PADDING_WORD.fullmatch(word) is not None


class DictionaryFile(NamedTuple):
    """The words of a ``dict.txt``, as fairseq numbers them."""

    symbols: List[str]
    counts: np.ndarray  # of the words; zero for the specials

    @classmethod
    def read(cls, path: Path) -> "DictionaryFile":
        """Raises UserError if a line is not ``WORD COUNT``, a word is there twice, or all words
        are padding."""
        symbols, counts, known = list(SPECIALS), [0] * len(SPECIALS), set(SPECIALS)
        for number, line in enumerate(read_lines(path), start=1):
            entry = line.removesuffix(OVERWRITE)
            word, _, count = entry.rpartition(" ")
            if not word or "\r" in word or not count.isdecimal() or len(count) > MOST_DIGITS:
                raise UserError(
                    f"{path}:{number}: {line[:60]!r} is not WORD COUNT; give a dict.txt of "
                    "fairseq-preprocess"
                )
            if word in known and entry == line:  # as fairseq
                raise UserError(f"{path}:{number}: {word!r} a second time; keep one line")
            known.add(word)
            symbols.append(word)
            counts.append(int(count))
        found = cls(symbols, np.array(counts))
        if all(map(is_padding_word, found.words())):
            raise UserError(f"{path}: no words; give a dict.txt of fairseq-preprocess")
        return found

    def words(self) -> List[str]:
        """The symbols without the specials."""
        return self.symbols[len(SPECIALS) :]

    def ids(self) -> Dict[str, int]:
        """Ids by word, without the specials."""
        return {word: number for number, word in enumerate(self.words(), start=len(SPECIALS))}

    def by_frequency(self) -> np.ndarray:
        """Ids of the words, most frequent first."""
        return np.argsort(-self.counts[len(SPECIALS) :], kind="stable") + len(SPECIALS)


def write_dictionary(output: OutputFile, words: Sequence[str], counts: Sequence[int]) -> None:
    """Write lines "WORD COUNT" without the specials."""
    for start in range(0, len(words), 10_000):
        pairs = zip(words[start : start + 10_000], counts[start : start + 10_000], strict=True)
        output.write("".join(f"{word} {count}\n" for word, count in pairs).encode())
