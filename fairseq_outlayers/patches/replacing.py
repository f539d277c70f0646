"""Replace functions of fairseq, each patch exactly once.

A patch is a function. It gets the function that it replaces, and then that one's arguments::

    @replaces(FairseqTask, "get_batch_iterator")
    def _cache_splits_only(stock, self, dataset, *args, **kwargs):
        ...
        return stock(self, dataset, *args, **kwargs)
"""

import functools
import inspect
from collections import defaultdict
from types import ModuleType
from typing import Any, Callable, DefaultDict, List, Tuple, TypeVar

MARK = "_replaced_by_outlayers"  # attribute with the replaced function
PATCHES = "_patches_of_outlayers"  # attribute with the patches applied so far

Patch = TypeVar("Patch", bound=Callable[..., Any])
# Owners, names and patches, by the module of the patch.
_recorded: DefaultDict[str, List[Tuple[Any, str, Callable[..., Any]]]] = defaultdict(list)


def replaces(owner: Any, name: str) -> Callable[[Patch], Patch]:
    """Record that a function replaces ``owner.name``; :func:`apply_recorded` replaces it.

    The function itself does not change. Of several decorators, the lowest comes first.

    Args:
        owner: a module or a class; static methods of a class remain static.
        name: of a function, or of a class that is only called.
    """

    def record(patch: Patch) -> Patch:
        _recorded[patch.__module__].append((owner, name, patch))
        return patch

    return record


def apply_recorded(module: ModuleType) -> None:
    """Apply the patches of a module in the order of their definition. Idempotent."""
    for owner, name, patch in _recorded.get(module.__name__, ()):
        replace_once(owner, name, patch)


def replace_once(owner: Any, name: str, patch: Callable[..., Any]) -> None:
    """Let ``owner.name`` call ``patch``, unless this patch was applied before.

    The replacement takes over the function's name, signature and docstring.

    Several patches may replace one function; the last one is the outermost.

    Args:
        owner, name: as in :func:`replaces`.
        patch: gets the current function and then the arguments of a call.
    """
    original = getattr(owner, name)
    applied: Tuple[Any, ...] = getattr(original, PATCHES, ())
    if patch in applied:
        return

    def replacement(*args: Any, **kwargs: Any) -> Any:
        return patch(original, *args, **kwargs)

    updated = () if isinstance(original, type) else functools.WRAPPER_UPDATES
    functools.update_wrapper(replacement, original, updated=updated)
    setattr(replacement, MARK, original)
    setattr(replacement, PATCHES, (*applied, patch))
    is_static = isinstance(inspect.getattr_static(owner, name), staticmethod)
    setattr(owner, name, staticmethod(replacement) if is_static else replacement)
