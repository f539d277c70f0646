"""Text files as lists of words, and tables as text."""

from pathlib import PurePath
from typing import Iterator, List, Optional, Sequence

from fairseq_outlayers.errors import UserError


def lines(path: str, separator: Optional[str] = None) -> Iterator[List[str]]:
    """The words of each line. Only a line feed ends a line (U+2028 and its like do not).

    Args:
        path: UTF-8 text.
        separator: between words; any white space by default.
    Raises:
        UserError: if the file cannot be read or is not UTF-8.
    """
    try:
        # An editor may have put a byte order mark in front of the first word.
        with open(path, encoding="utf-8-sig", newline="\n") as file:
            for line in file:
                yield line.removesuffix("\n").split(separator)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text ({error.reason})") from error


def parallel_lines(reference: str, other: str) -> List[List[str]]:
    """The lines of ``other``, which must be as many as those of ``reference``.

    Raises:
        UserError: if they are not, or if there are none.
    """
    sentences = list(lines(other))
    expected = sum(1 for _ in lines(reference))
    if len(sentences) != expected or not sentences:
        raise UserError(
            f"{other} has {len(sentences)} lines and {reference} {expected}: they must be line by "
            "line translations of the same sentences, at least one"
        )
    return sentences


def table(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Plain text in columns as wide as needed; the first row is the heading.

    Args:
        left: how many columns, from the first, are flush left; the others are flush right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = []
    for row in rows:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        texts.append("  ".join(cells).rstrip())
    return "\n".join([texts[0], "-" * (sum(widths) + 2 * len(widths) - 2), *texts[1:]])


def markdown_table(rows: Sequence[Sequence[object]]) -> str:
    """The same in Markdown."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def short_names(paths: Sequence[str]) -> List[str]:
    """What tells paths apart: without the folders at either end that all of them share."""
    parts = [list(PurePath(path).parts) for path in paths]
    if len(set(map(tuple, parts))) < len(parts) or len(parts) == 1:
        return [names[-1] for names in parts]
    for end in (0, -1):
        while all(len(names) > 1 for names in parts) and len({names[end] for names in parts}) == 1:
            for names in parts:
                del names[end]
    return ["/".join(names) for names in parts]
