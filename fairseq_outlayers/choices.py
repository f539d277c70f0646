"""Options with a list of values to choose from, in dataclasses that need no fairseq."""

from enum import StrEnum
from typing import Any, Iterable


class Choice(StrEnum):
    """A value that is its name, as a string; fairseq lists all names in its help."""

    __repr__ = str.__str__


def ChoiceEnum(choices: Iterable[str]) -> Any:
    """The type of a field that takes one of several strings; the default is given as a string."""
    return Choice("Choices", {name: name for name in choices})
