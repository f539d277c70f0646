"""Replace a function of fairseq's, each patch exactly once."""

import inspect
from typing import Any, Callable, Tuple

MARK = "_replaced_by_outlayers"  # the function that was there
PATCHES = "_patches_of_outlayers"  # who has replaced it so far


def replace_once(
    owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Set ``owner.name`` to ``make(the function there)``, unless that has been done before.

    Several patches may replace one function; the last one is the outermost.

    Args:
        owner: a module or a class; what was a static method of a class remains one.
        name: the function's name in it.
        make: takes the function that is there and returns the one to put in its place.
    """
    original = getattr(owner, name)
    applied: Tuple[Any, ...] = getattr(original, PATCHES, ())
    if make in applied:
        return
    replacement = make(original)
    setattr(replacement, MARK, original)
    setattr(replacement, PATCHES, (*applied, make))
    is_static = isinstance(inspect.getattr_static(owner, name), staticmethod)
    setattr(owner, name, staticmethod(replacement) if is_static else replacement)
