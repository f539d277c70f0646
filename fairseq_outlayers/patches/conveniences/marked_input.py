"""Check the text to translate as it is read.

``buffered_read`` (fairseq_cli/interactive.py) keeps a byte order mark as part of the first word,
which is then unknown; our own readers drop it, too (``formats/text.py``). It replaces bytes that
are not UTF-8 in some locales, so that a word is unknown. ``<s>``, ``</s>`` and ``<pad>`` in a text
become symbols of fairseq. A tab or a no-break space between words becomes a space: BPE codes split
words at spaces only, and our preparation of training text separates words like this, too. With
``--constraints`` tabs stay: they separate a sentence from its constraints (``make_batches``). A
carriage return within a line ends the line in a file, but not in standard input: files with one are
refused, as by fairseq-preprocess.
"""

import contextlib
import logging
import os
from typing import Any, Callable, Iterator, List

from fairseq_cli import interactive

from fairseq_outlayers.errors import UserError, returns_within_lines
from fairseq_outlayers.formats.text import BOM, OTHER_SPACE, OTHER_SPACE_BUT_TAB
from fairseq_outlayers.patches.conveniences.parallel_texts import SYMBOLS, count_lines
from fairseq_outlayers.patches.replacing import replaces

logger = logging.getLogger(__name__)


@replaces(interactive, "buffered_read")
def _refuse_marked(stock: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[List[str]]:
    number = 0
    _refuse_returns(args[0] if args else kwargs.get("input"))
    for batch in stock(*args, **kwargs):
        if batch and number == 0:
            batch = [batch[0].removeprefix(BOM), *batch[1:]]
        for line in batch:
            number += 1
            _check(line, number)
        yield batch


def _refuse_returns(path: Any) -> None:
    """Refuse a file with carriage returns within lines."""
    if isinstance(path, str) and os.path.isfile(path):
        with contextlib.suppress(UnicodeDecodeError, OSError):  # refused when it is read
            _, returns = count_lines(path)
            if returns:
                raise returns_within_lines(path, returns)


@replaces(interactive, "make_batches")
def _spaced(
    stock: Callable[..., Any], lines: List[str], cfg: Any, *args: Any, **kwargs: Any
) -> Any:
    other = OTHER_SPACE_BUT_TAB if cfg.generation.constraints else OTHER_SPACE
    return stock([other.sub(" ", line) for line in lines], cfg, *args, **kwargs)


def _check(line: str, number: int) -> None:
    """Refuse a line that is not UTF-8, and warn of symbols.

    Args:
        number: of the line, from 1.
    """
    try:
        words = set(line.encode().split())
    except UnicodeEncodeError as error:  # a surrogate, which stands for a byte
        raise UserError(
            f"line {number} of the input is not UTF-8 (character {error.start + 1}): convert it"
        ) from None
    if found := sorted(symbol.decode() for symbol in SYMBOLS & words):
        logger.warning(
            f"line {number} of the input has {', '.join(found)}, which fairseq reads as its own "
            "symbols, not as text: remove or escape them"
        )
