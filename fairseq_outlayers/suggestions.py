"""Parsing of arguments: suggestions for mistyped options, choices and commands; whole numbers."""

import argparse
import difflib
import re
import sys
from typing import Any, Callable, Iterable, List, NoReturn, Optional, Set

LIKE = 0.6  # minimum similarity by difflib
MOST_LISTED = 20  # longer lists of choices are not shown: fairseq has hundreds of architectures
INVALID_CHOICE = re.compile(r"argument ([^:]+): invalid choice: (.+?) \(choose from (.+)\)$", re.S)


def closest(word: str, known: Iterable[str], like: float = LIKE) -> Optional[str]:
    """The most similar known word, or None."""
    found = difflib.get_close_matches(word, [str(each) for each in known], 1, like)
    return found[0] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean joint?`` or an empty string, to end a message."""
    close = closest(word, known)
    return f"; did you mean {close}?" if close else ""


def explain_choice(parser: argparse.ArgumentParser, message: str) -> str:
    """argparse's message about an invalid choice, with a suggestion.

    Args:
        parser: that raised the error.
        message: of any error; others are returned unchanged.
    """
    found = INVALID_CHOICE.match(message)
    if found is None:
        return message
    name, given, _ = found.groups()
    known = _choices(parser, name)
    listed = message if len(known) <= MOST_LISTED else message.partition(" (choose from ")[0]
    return listed + did_you_mean(given.strip("'\""), known)


def explain_unknown(
    parsers: Iterable[argparse.ArgumentParser], given: Iterable[str], message: str
) -> str:
    """argparse's message about unrecognized or missing arguments, with suggestions.

    Args:
        parsers: with the known options.
        given: the words of the command line.
        message: of any error; others are returned unchanged.
    """
    if not message.startswith(("unrecognized arguments: ", "the following arguments are required")):
        return message
    known = [name for parser in parsers for name in parser._option_string_actions]
    words = [word.partition("=")[0] for word in given if word.startswith("--")]
    near = [(word, closest(word, known)) for word in words if word not in known]
    return "".join([message, *(f"; instead of {w}, did you mean {n}?" for w, n in near if n)])


def _choices(parser: argparse.ArgumentParser, name: str) -> List[str]:
    """The choices of an argument by its name in argparse's messages."""
    for action in parser._actions:
        names = {"/".join(action.option_strings), str(action.metavar), action.dest}
        if name in names and action.choices is not None:
            return [str(choice) for choice in action.choices]
    return []


class _Store(argparse._StoreAction):
    """argparse's default action; a second list of an option would replace the first one."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: Optional[str] = None
    ) -> None:
        if option_string is not None and self.nargs in ("+", "*"):
            if self.dest in parser.given_lists:
                raise argparse.ArgumentError(
                    self, f"given twice; give all values after one {option_string}"
                )
            parser.given_lists.add(self.dest)
        super().__call__(parser, namespace, values, option_string)


class HelpfulParser(argparse.ArgumentParser):
    """An argument parser with one-line errors that suggest the probable spelling.

    An option with a list of values is refused when it is given twice.
    """

    ending = ""  # of every message
    given: List[str] = []  # noqa: RUF012 (set before it is read)
    given_lists: Set[str] = set()  # noqa: RUF012 (set before it is read)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.register("action", None, _Store)
        self.register("action", "store", _Store)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.given = list(sys.argv[1:] if args is None else args)
        self.given_lists = set()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        subparsers = [a.choices for a in self._actions if isinstance(a, argparse._SubParsersAction)]
        parsers = [self, *(parser for named in subparsers for parser in named.values())]
        message = explain_unknown(parsers, self.given, explain_choice(self, message))
        self.exit(2, f"{self.prog}: error: {message}{self.ending}\n")


def between(smallest: int, largest: int) -> Callable[[str], int]:
    """An argparse type: a whole number in a range."""

    def whole_number(text: str) -> int:
        if not text.isdecimal() or len(text) > 20 or int(text) < smallest:
            raise argparse.ArgumentTypeError(f"{text}: must be a whole number, {smallest} or more")
        if int(text) > largest:
            raise argparse.ArgumentTypeError(f"{text}: must be at most {largest:,}")
        return int(text)

    return whole_number
