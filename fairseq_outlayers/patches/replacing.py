"""Replace functions of fairseq, each patch exactly once."""

import functools
import inspect
from typing import Any, Callable, Tuple

MARK = "_replaced_by_outlayers"  # attribute with the replaced function
PATCHES = "_patches_of_outlayers"  # attribute with the patches applied so far


def replace_once(
    owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Set ``owner.name`` to ``make(owner.name)``, unless this patch was applied before.

    The replacement takes over the function's name, signature and docstring.

    Several patches may replace one function; the last one is the outermost.

    Args:
        owner: a module or a class; static methods of a class remain static.
        name: of the function.
        make: maps the current function to its replacement.
    """
    original = getattr(owner, name)
    applied: Tuple[Any, ...] = getattr(original, PATCHES, ())
    if make in applied:
        return
    replacement = make(original)
    updated = () if isinstance(original, type) else functools.WRAPPER_UPDATES
    functools.update_wrapper(replacement, original, updated=updated)
    setattr(replacement, MARK, original)
    setattr(replacement, PATCHES, (*applied, make))
    is_static = isinstance(inspect.getattr_static(owner, name), staticmethod)
    setattr(owner, name, staticmethod(replacement) if is_static else replacement)
