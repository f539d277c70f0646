"""Ranges of options: declared in the field of a ``Config``, checked in one place.

:func:`ranged` makes a field with the range in its metadata and at the end of its help, so that
``--help`` and ``docs/options.md`` show it. :func:`check_ranges` checks a configuration when a part
is built. NaN and infinity are in no range.
"""

import math
import operator
from dataclasses import field
from typing import Any, Callable, Mapping, NamedTuple, Optional

from fairseq_outlayers.errors import UserError, as_flag

WIDEST = 1_000_000  # units of a layer
DEEPEST = 1_000  # layers, heads and the like
RANGE = "range"  # the key in a field's metadata
HOLDS = (operator.ge, operator.gt, operator.le, operator.lt)  # of the limits of a Range, in order


class Range(NamedTuple):
    """Finite numbers within optional limits."""

    at_least: Optional[float] = None
    above: Optional[float] = None
    at_most: Optional[float] = None
    below: Optional[float] = None

    def __contains__(self, value: object) -> bool:
        number: Any = value
        return math.isfinite(number) and all(
            limit is None or holds(number, limit) for limit, holds in zip(self, HOLDS, strict=True)
        )

    def __str__(self) -> str:
        limits = [
            f"{name.replace('_', ' ')} {_plain(limit)}"
            for name, limit in self._asdict().items()
            if limit is not None
        ]
        return " and ".join(limits) or "finite"


def _plain(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


def ranged(
    default: Any,
    help: str,
    at_least: Optional[float] = None,
    above: Optional[float] = None,
    at_most: Optional[float] = None,
    below: Optional[float] = None,
) -> Any:
    """A field of a ``Config`` with limits, which are added to the help."""
    limits = Range(at_least, above, at_most, below)
    return field(default=default, metadata={"help": f"{help} ({limits})", RANGE: limits})


def width(default: int, help: str) -> Any:
    """A field for the size of a layer."""
    return ranged(default, help, at_least=1, at_most=WIDEST)


def optional_width(default: int, help: str) -> Any:
    """A field for the size of a layer; 0 lets the model choose."""
    return ranged(default, help, at_least=0, at_most=WIDEST)


def depth(default: int, help: str) -> Any:
    """A field for a number of layers or heads."""
    return ranged(default, help, at_least=1, at_most=DEEPEST)


def share(default: float, help: str) -> Any:
    """A field for a share in [0, 1), such as dropout."""
    return ranged(default, help, at_least=0, below=1)


def ranges_of(dataclass: Any) -> Mapping[str, Range]:
    """Ranges of a dataclass's limited options, by name of the field."""
    every = getattr(dataclass, "__dataclass_fields__", {})
    return {name: one.metadata[RANGE] for name, one in every.items() if RANGE in one.metadata}


def check_ranges(config: Any, dataclass: Any) -> None:
    """Check every limited option of a dataclass.

    Args:
        config: has the fields as attributes; missing ones, as in old checkpoints, are skipped.
        dataclass: declares the fields.
    Raises:
        UserError: for the first number out of its range.
    """
    for name, limits in ranges_of(dataclass).items():
        check_number(name, getattr(config, name, None), limits)


def check_number(
    name: str, value: Any, limits: Range, spelled: Callable[..., str] = as_flag
) -> None:
    """Raise ``UserError`` if ``value`` is a number out of the range; ``spelled`` names it."""
    if isinstance(value, (int, float)) and value not in limits:
        raise UserError(f"{spelled(name, value)}: must be {limits}")
