"""Text files as lists of words."""

from typing import Iterator, List, Optional

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
