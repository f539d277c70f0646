"""Refuse misaligned or unreadable texts before they are binarized.

``fairseq-preprocess`` binarizes each side separately: if one side has fewer lines, or a carriage
return within a line, which fairseq takes for a line end, all following sentences are misaligned, or
training ends in an assertion. The patch counts the lines of both sides, as fairseq does and by line
feeds. Text that is not UTF-8 ends in ``negative seek position`` or in garbled words; a byte order
mark becomes part of the first word. The patch also checks ranges of fairseq's numbers, and warns of
words that fairseq takes for its own symbols.
"""

import codecs
import logging
import os
from collections import Counter
from typing import Any, Callable, Iterator, List, Tuple

from fairseq_cli import preprocess

from fairseq_outlayers.errors import UserError, returns_within_lines
from fairseq_outlayers.patches.replacing import replaces
from fairseq_outlayers.stock.ranges import check_stock_ranges

logger = logging.getLogger(__name__)

BLOCK = 1 << 22
# Symbols of fairseq's dictionaries that no text should have; <unk> is common, and means the same.
SYMBOLS = {b"<s>", b"</s>", b"<pad>"}
CHECKED = "checked_by_outlayers"  # set among the options after the check


# The steps that read texts; given both dictionaries, fairseq skips ``_build_dictionary``.
@replaces(preprocess, "_make_all")
@replaces(preprocess, "_build_dictionary")
def _check_texts(stock: Callable[..., Any], *positional: Any, **named: Any) -> Any:
    args = named.get("args", positional[-1] if positional else None)
    if not getattr(args, CHECKED, False):
        check_stock_ranges(args)
        for paths in texts_of(args):
            check_lines(paths)
            for path in paths:
                warn_of_symbols(path)
        _check_alignments(args)
        setattr(args, CHECKED, True)
    return stock(*positional, **named)


def texts_of(args: Any) -> Iterator[List[str]]:
    """The sides of each text."""
    for prefix in _prefixes(args):
        sides = [args.source_lang, *([] if args.only_source else [args.target_lang])]
        yield [prefix + (f".{side}" if side else "") for side in sides]


def _prefixes(args: Any) -> Iterator[str]:
    for prefixes in (args.trainpref, args.validpref, args.testpref):
        yield from prefixes.split(",") if prefixes else []


def _check_alignments(args: Any) -> None:
    """Raise UserError if no text has alignments; stock then silently writes none."""
    paths = [f"{prefix}.{args.align_suffix}" for prefix in _prefixes(args)]
    if args.align_suffix and not any(map(os.path.exists, paths)):
        raise UserError(f"--align-suffix {args.align_suffix}: no {' and no '.join(paths)}")


def check_lines(paths: List[str]) -> None:
    """Compare the lines of the sides of one text.

    Raises:
        UserError: if a side cannot be read, is empty, has a carriage return within a line, or
            another number of lines.
    """
    counts = {}
    for path in paths:
        try:
            lines, others = count_lines(path)
        except OSError as error:
            raise UserError(
                f"{path}: {error.strerror}; check the prefix and the languages"
            ) from error
        except UnicodeDecodeError as error:
            raise UserError(
                f"{path}: not UTF-8 text ({error.reason}); convert it with iconv -t UTF-8"
            ) from error
        if _has_mark(path):
            raise UserError(
                f"{path}: begins with a byte order mark, which would become part of its first "
                "word: remove it (sed -i '1s/^\\xEF\\xBB\\xBF//')"
            )
        if lines == 0:
            raise UserError(f"{path}: empty file; give a text of at least one line")
        if others:
            raise returns_within_lines(path, others)
        counts[path] = lines
    if len(set(counts.values())) > 1:
        found = " and ".join(f"{path} has {lines:,} lines" for path, lines in counts.items())
        raise UserError(f"{found}: line n of one must translate line n of the other")


def warn_of_symbols(path: str) -> None:
    """Log which of fairseq's symbols are words of a text, and in how many lines."""
    found: Counter[bytes] = Counter()
    with open(path, "rb") as file:
        for line in file:
            if b"<" in line:
                found.update(SYMBOLS.intersection(line.split()))
    for symbol, lines in sorted(found.items()):
        logger.warning(
            "%s: %d lines contain the word %s, which fairseq takes for its own symbol (padding is "
            "not learned, </s> ends a sentence): replace it, or remove the lines",
            path,
            lines,
            symbol.decode(),
        )


def _has_mark(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def count_lines(path: str) -> Tuple[int, int]:
    """Numbers of lines that end in a line feed (or with the file), and in a return only."""
    feeds = returns = both = 0
    last, decoder = b"\n", codecs.getincrementaldecoder("utf-8")()
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            decoder.decode(block)
            feeds += block.count(b"\n")
            returns += block.count(b"\r")
            both += block.count(b"\r\n") + (last == b"\r" and block[:1] == b"\n")
            last = block[-1:]
    decoder.decode(b"", final=True)
    return feeds + (last != b"\n"), returns - both
