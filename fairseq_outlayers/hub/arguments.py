"""Checks of Python arguments: types, choices and ranges, as argparse checks a command line."""

import numbers
from dataclasses import fields
from enum import EnumMeta
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Sequence, Tuple, get_args

import numpy as np

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.ranges import WIDEST, Range, ranges_of
from fairseq_outlayers.suggestions import did_you_mean

# Python and numpy numbers; bool is an int, but no number here.
KINDS: Dict[type, Tuple[Any, str]] = {
    bool: (bool, "True or False"),
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    str: ((str, Path), "a str"),
}


def as_keyword(name: str, *value: Any) -> str:
    """An argument as in Python: ``name=value``, or its name alone."""
    return f"{name}={value[0]!r}" if value else name


def checked(options: Dict[str, Any], dataclass: Any) -> Dict[str, Any]:
    """Options of a dataclass in the types that it declares.

    Args:
        options: by name; other names than the dataclass's are left as they are.
        dataclass: declares types, choices and, by ``ranged``, ranges.
    Raises:
        UserError: for the first value of another type, choice or range.
    """
    declared = {option.name: option.type for option in fields(dataclass)}
    ranges = ranges_of(dataclass)
    found = dict(options)
    for name in options:
        if name in declared:
            found[name] = _converted(name, options[name], declared[name])
        if name in ranges and found[name] not in ranges[name]:
            raise UserError(f"{name}={found[name]}: must be {ranges[name]}")
    return found


def _converted(name: str, value: Any, kind: Any) -> Any:
    if type(None) in get_args(kind):
        if value is None:
            return None
        kind = get_args(kind)[0]
    if isinstance(kind, EnumMeta):
        return check_choice(name, value, [str(choice.value) for choice in kind])  # type: ignore[var-annotated]
    if kind not in KINDS:
        return value
    types, what = KINDS[kind]
    if not isinstance(value, types) or (isinstance(value, bool) and kind is not bool):
        raise UserError(f"{name}={value!r}: must be {what}")
    return kind(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """The name of a choice, or a :class:`UserError` that lists the choices."""
    known = sorted(choices)
    if str(value) not in known:
        raise UserError(
            f"{name}={value!r}: must be one of {', '.join(known)}{did_you_mean(str(value), known)}"
        )
    return str(value)


def check_whole(name: str, value: Any, at_least: int = 1, at_most: int = WIDEST) -> int:
    """A whole number in a range, or a :class:`UserError`."""
    value = _converted(name, value, int)
    limits = Range(at_least=at_least, at_most=at_most)
    if value not in limits:
        raise UserError(f"{name}={value}: must be {limits}")
    return int(value)


def check_real(name: str, value: Any) -> float:
    """A number, or a :class:`UserError`."""
    return float(_converted(name, value, float))


def check_text(name: str, text: Any) -> str:
    """A text, or a :class:`UserError` for what is none."""
    if not isinstance(text, str):
        raise UserError(f"{name}={text!r:.80}: must be a text (str)")
    return text


def check_iterable(name: str, value: Any, what: str) -> Any:
    """What can be iterated over, or a :class:`UserError`."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise UserError(f"{name}={value!r:.80}: must be {what}")
    return value


def check_pairs(pairs: Any) -> Iterator[Tuple[str, str]]:
    """The pairs of texts, or a :class:`UserError` for what is no pair."""
    what = "pairs (source, translation)"
    for number, pair in enumerate(check_iterable("pairs", pairs, what)):
        if not isinstance(pair, (Sequence, np.ndarray)) or isinstance(pair, (str, bytes)):
            raise UserError(f"pairs[{number}]={pair!r:.80}: must be a pair (source, translation)")
        if len(pair) != 2:
            raise UserError(f"pairs[{number}]: has {len(pair)} texts; must be source, translation")
        yield pair[0], pair[1]
