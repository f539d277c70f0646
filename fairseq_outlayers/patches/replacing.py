"""Replace a function of fairseq's exactly once."""

import inspect
from typing import Any, Callable

MARK = "_replaced_by_outlayers"


def replace_once(
    owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Set ``owner.name`` to ``make(the function there)``, unless that has been done before.

    Args:
        owner: a module or a class; what was a static method of a class remains one.
        name: the function's name in it.
        make: takes the function that is there and returns the one to put in its place.
    """
    original = getattr(owner, name)
    if hasattr(original, MARK):
        return
    replacement = make(original)
    setattr(replacement, MARK, original)
    is_static = isinstance(inspect.getattr_static(owner, name), staticmethod)
    setattr(owner, name, staticmethod(replacement) if is_static else replacement)
