"""Candidate lists as files: for this package's decoder, for Marian and for CTranslate2."""

import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from common import UserError
from lexical_table import Lexicon
from text_files import OutputFile, read_lines

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]  # fairseq's, in front of every dictionary
FORMAT = 1


class Words(NamedTuple):
    """The words of a ``dict.txt``, as fairseq numbers them."""

    symbols: list[str]
    counts: np.ndarray  # of the words; zero for the specials

    @classmethod
    def read(cls, path: Path) -> "Words":
        """Raises UserError if a line is not ``WORD COUNT``."""
        symbols, counts = list(SPECIALS), [0] * len(SPECIALS)
        for number, line in enumerate(read_lines(path), start=1):
            line = line.removesuffix(" #fairseq:overwrite")
            word, _, count = line.rpartition(" ")
            if not word or not count.isdecimal():
                raise UserError(
                    f"{path}:{number}: {line!r} is not WORD COUNT; give a dict.txt of "
                    "fairseq-preprocess"
                )
            symbols.append(word)
            counts.append(int(count))
        if len(symbols) == len(SPECIALS):
            raise UserError(f"{path}: no words; give a dict.txt of fairseq-preprocess")
        return cls(symbols, np.array(counts))

    def index(self) -> dict[str, int]:
        """Ids of the words, without the specials."""
        words = enumerate(self.symbols[len(SPECIALS) :], start=len(SPECIALS))
        return {word: number for number, word in words}

    def fingerprint(self) -> int:
        """Number and checksum of all symbols, as a checkpoint of this package has it."""
        return (len(self.symbols) << 32) | zlib.crc32("\n".join(self.symbols).encode("utf-8"))

    def by_frequency(self) -> np.ndarray:
        """Ids of the words, the most frequent first."""
        words = self.counts[len(SPECIALS) :]
        return np.argsort(-words, kind="stable") + len(SPECIALS)


class Translations(NamedTuple):
    """The best translations of every source word, as ids, in rows one after the other."""

    offsets: np.ndarray  # row s is targets[offsets[s] : offsets[s + 1]]
    targets: np.ndarray
    probabilities: np.ndarray
    blocked: np.ndarray  # ids of target words that are never to be produced

    @classmethod
    def select(
        cls, lexicon: Lexicon, source: Words, target: Words, per_word: int, blocked: np.ndarray
    ) -> "Translations":
        """The ``per_word`` best entries of each word, of those that the dictionaries have."""
        ids = _ids(lexicon.source_words, source), _ids(lexicon.target_words, target)
        known = (ids[0][lexicon.sources] >= 0) & (ids[1][lexicon.targets] >= 0)
        known &= ~np.isin(ids[1][lexicon.targets], blocked)
        best = Lexicon(
            source.symbols,
            target.symbols,
            ids[0][lexicon.sources[known]],
            ids[1][lexicon.targets[known]],
            lexicon.probabilities[known],
        ).best(per_word)
        sizes = np.bincount(best.sources, minlength=len(source.symbols))
        offsets = np.insert(np.cumsum(sizes), 0, 0)
        return cls(offsets, best.targets, best.probabilities, blocked)

    def row(self, source_id: int) -> np.ndarray:
        """Translations of a word, the most probable first."""
        return self.targets[self.offsets[source_id] : self.offsets[source_id + 1]]

    def write(self, output: OutputFile, source: Words, target: Words, per_word: int) -> None:
        """The file that ``--candidates`` of the decoder reads."""
        file = io.BytesIO()
        np.savez_compressed(
            file,
            format=FORMAT,
            per_word=per_word,
            source_fingerprint=source.fingerprint(),
            target_fingerprint=target.fingerprint(),
            offsets=self.offsets.astype(np.int64),
            targets=self.targets.astype(np.int32),
            blocked=self.blocked.astype(np.int32),
        )
        output.write(file.getvalue())

    def write_marian(self, output: OutputFile, source: Words, target: Words) -> None:
        """Marian's lexical shortlist: ``TARGET SOURCE P`` lines."""
        for source_id, word in enumerate(source.symbols):
            row = slice(self.offsets[source_id], self.offsets[source_id + 1])
            for target_id, p in zip(self.targets[row], self.probabilities[row], strict=True):
                output.write_line(f"{target.symbols[target_id]} {word} {p:.7f}")

    def write_ctranslate2(
        self, output: OutputFile, source: Words, target: Words, frequent: Sequence[int]
    ) -> None:
        """CTranslate2's ``vmap.txt``: first what is always allowed, then a line a source word."""
        output.write_line("\t" + " ".join(target.symbols[number] for number in frequent))
        for source_id, word in enumerate(source.symbols):
            if row := [target.symbols[number] for number in self.row(source_id)]:
                output.write_line(f"{word}\t{' '.join(row)}")


def _ids(words: Sequence[str], dictionary: Words) -> np.ndarray:
    """The id of each word, -1 for one that the dictionary does not have."""
    index = dictionary.index()
    return np.array([index.get(word, -1) for word in words], dtype=np.int64)
