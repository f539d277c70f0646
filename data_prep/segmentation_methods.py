"""The two ways to segment words into subword units: subword-nmt and sentencepiece, both BPE."""

import contextlib
import functools
import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TextIO

from common import progress
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.text import read_lines

# sentencepiece would silently leave out longer sentences (4,192 bytes unless told otherwise).
LONGEST_SENTENCE_BYTES = 1 << 24


class Segmentation(Protocol):
    """Segments a line of words into units, both separated by single spaces."""

    def has_mark(self, line: str) -> bool: ...

    def segment(self, line: str) -> str: ...
    @staticmethod
    def learn(
        lines: Iterable[str], merges: int | None, vocabulary_size: int | None
    ) -> tuple[bytes, str]: ...


def merging_progress(steps: range, file: TextIO) -> Iterable[int]:
    """Progress over merge operations."""
    return progress(steps, len(steps), "merging", " merges", file)


VERSIONS = ("#version: 0.1", "#version: 0.2")  # first lines of codes that subword-nmt applies


class SubwordNmt:
    """BPE by subword-nmt: a unit with more of the word to come ends in ``@@``.

    Raises:
        UserError: if the codes file is malformed.
    """

    def __init__(self, path: Path):
        from subword_nmt.apply_bpe import BPE

        lines = list(read_lines(path))
        if lines[0].strip() not in VERSIONS:
            raise UserError(f"{path}:1: {lines[0]!r} is not one of {', '.join(VERSIONS)}")
        for number, line in enumerate(lines[1:], start=2):
            units = line.split(" ")
            if len(units) != 2 or not all(unit.strip("\r\n") for unit in units):
                raise UserError(f"{path}:{number}: {line!r} is not a pair of units; learn it again")
        if len(lines) < 2:
            raise UserError(f"{path}:1: no merges after the first line; learn it again")
        self.bpe = BPE(io.StringIO("\n".join(lines) + "\n"))

    def has_mark(self, line: str) -> bool:
        """Whether a word ends in the mark, so that the words could not be told apart again."""
        return "@@ " in f"{line} "

    def segment(self, line: str) -> str:
        return self.bpe.process_line(line)

    @staticmethod
    def learn(
        lines: Iterable[str], merges: int | None, vocabulary_size: int | None
    ) -> tuple[bytes, str]:
        """The codes file and its description, for a number of merges or of units."""
        from subword_nmt import learn_bpe

        codes, notes = io.StringIO(), io.StringIO()
        # Its notes would break up our one-line errors; its progress bar has to get past that.
        learn_bpe.tqdm = functools.partial(merging_progress, file=sys.stderr)
        size = merges or vocabulary_size
        try:
            with contextlib.redirect_stderr(notes):
                learn_bpe.learn_bpe(lines, codes, size, total_symbols=merges is None)
        except ValueError:  # the maximum of no pairs at all
            raise UserError("the text has no word of two letters; give more text") from None
        learned = codes.getvalue().count("\n") - 1
        if learned < 1 and "no pair" not in notes.getvalue():
            raise UserError(
                f"--vocabulary-size {size} leaves no merges beyond the single characters; raise it"
            )
        if learned < 1:
            raise UserError("no pair of letters occurs twice in the text; give more text")
        short = " (no other pair occurs twice)" if "no pair" in notes.getvalue() else ""
        return codes.getvalue().encode("utf-8"), f"{learned:,} merges{short}"


class SentencePiece:
    """BPE by sentencepiece: a unit that begins a word begins with U+2581.

    Raises:
        UserError: if the file is no sentencepiece model.
    """

    def __init__(self, path: Path):
        import sentencepiece

        try:
            self.processor = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        except RuntimeError:
            raise UserError(
                f"{path}:1: neither subword-nmt codes ('#version: ...') nor a sentencepiece model; "
                "give a file that `segment.py learn` wrote"
            ) from None

    def has_mark(self, line: str) -> bool:
        """Whether the line holds the mark, which would become a space when units are joined."""
        return "\u2581" in line

    def segment(self, line: str) -> str:
        return " ".join(self.processor.encode(line, out_type=str))

    @staticmethod
    def learn(
        lines: Iterable[str], merges: int | None, vocabulary_size: int | None
    ) -> tuple[bytes, str]:
        """The model and its description, for a number of units (three control symbols included)."""
        import sentencepiece

        if vocabulary_size is None:
            raise UserError(
                f"--merges {merges} is for subword-nmt; sentencepiece needs --vocabulary-size N"
            )
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                model_type="bpe",
                vocab_size=vocabulary_size,
                normalization_rule_name="identity",  # or segmentation could not be undone
                character_coverage=1.0,
                max_sentence_length=LONGEST_SENTENCE_BYTES,
                num_threads=1,
                minloglevel=2,
            )
        except RuntimeError as error:
            reason = (
                str(error).split("] ", 1)[-1].split(" or decrease")[0] or "the text has no words"
            )
            raise UserError(f"--vocabulary-size {vocabulary_size}: {reason}") from None
        return model.getvalue(), f"{vocabulary_size:,} units"


METHODS: dict[str, type[Segmentation]] = {"subword-nmt": SubwordNmt, "sentencepiece": SentencePiece}


def load_segmentation(path: Path) -> Segmentation:
    """The segmentation in a file that ``segment.py learn`` wrote; its content says which kind."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; make it with `segment.py learn`")
    with open(path, "rb") as file:
        start = file.read(9)
    if not start:
        raise UserError(f"{path}: empty file; make it with `segment.py learn`")
    return SubwordNmt(path) if start == b"#version:" else SentencePiece(path)
