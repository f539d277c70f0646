"""Methods of subword segmentation: BPE by subword-nmt or sentencepiece."""

import contextlib
import functools
import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TextIO

from lib.common import progress

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.text import read_lines

# sentencepiece silently skips longer sentences (default: 4,192 bytes).
LONGEST_SENTENCE_BYTES = 1 << 24


class Segmentation(Protocol):
    """Segments lines of words into lines of units, separated by single spaces."""

    def has_mark(self, line: str) -> bool: ...

    def segment(self, line: str) -> str: ...
    @staticmethod
    def learn(
        lines: Iterable[str], merges: int | None, vocabulary_size: int | None
    ) -> tuple[bytes, str]: ...


def merging_progress(steps: range, file: TextIO) -> Iterable[int]:
    """Progress over merge operations."""
    return progress(steps, len(steps), "merging", " merges", file)


VERSIONS = ("#version: 0.1", "#version: 0.2")  # supported first lines of subword-nmt codes


class SubwordNmt:
    """BPE by subword-nmt: every unit of a word except the last ends in ``@@``.

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
        """Whether a word ends in the marker, which would make the segmentation ambiguous."""
        return "@@ " in f"{line} "

    def segment(self, line: str) -> str:
        return self.bpe.process_line(line)

    @staticmethod
    def learn(
        lines: Iterable[str], merges: int | None, vocabulary_size: int | None
    ) -> tuple[bytes, str]:
        """Learn codes with a number of merges or units; returns the file and a description."""
        from subword_nmt import learn_bpe

        codes, notes = io.StringIO(), io.StringIO()
        # Its messages would break our one-line errors, so stderr is redirected; progress is not.
        learn_bpe.tqdm = functools.partial(merging_progress, file=sys.stderr)
        size = merges or vocabulary_size
        try:
            with contextlib.redirect_stderr(notes):
                learn_bpe.learn_bpe(lines, codes, size, total_symbols=merges is None)
        except ValueError:  # maximum of an empty set of pairs
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
    """BPE by sentencepiece: the first unit of a word begins with U+2581.

    Raises:
        UserError: if the file is not a sentencepiece model.
    """

    def __init__(self, path: Path):
        import sentencepiece

        try:
            self.processor = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        except RuntimeError:
            raise UserError(
                f"{path}:1: neither subword-nmt codes ('#version: ...') nor a sentencepiece model; "
                "give a file of `segment.py learn`"
            ) from None

    def has_mark(self, line: str) -> bool:
        """Whether the line contains the marker, which would become a space in joined units."""
        return "\u2581" in line

    def segment(self, line: str) -> str:
        return " ".join(self.processor.encode(line, out_type=str))

    @staticmethod
    def learn(
        lines: Iterable[str], merges: int | None, vocabulary_size: int | None
    ) -> tuple[bytes, str]:
        """Learn a number of units (with three control symbols); returns model and description."""
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
                normalization_rule_name="identity",  # keeps the segmentation reversible
                character_coverage=1.0,
                max_sentence_length=LONGEST_SENTENCE_BYTES,
                num_threads=1,
                minloglevel=2,
            )
        except RuntimeError as error:
            reason = str(error).split("] ", 1)[-1].split(" or decrease")[0]
            reason = reason or "too small, or the text has no words"
            raise UserError(f"--vocabulary-size {vocabulary_size}: {reason}") from None
        return model.getvalue(), f"{vocabulary_size:,} units"


METHODS: dict[str, type[Segmentation]] = {"subword-nmt": SubwordNmt, "sentencepiece": SentencePiece}


def load_segmentation(path: Path) -> Segmentation:
    """Load a file of ``segment.py learn``; its content determines the method."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; make it with `segment.py learn`")
    with open(path, "rb") as file:
        start = file.read(9)
    if not start:
        raise UserError(f"{path}: empty file; make it with `segment.py learn`")
    return SubwordNmt(path) if start == b"#version:" else SentencePiece(path)
