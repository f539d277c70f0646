"""Refuse a model whose name another one has.

fairseq's ``register_model`` (fairseq/models/__init__.py) ignores a class with a registered name and
returns the other class, so a copy of a model that was not renamed would train the original. A class
that its file defines again is left to fairseq: a ``--user-dir`` may be imported by two names.
"""

import inspect
import os
from typing import Any, Callable, Tuple

from fairseq import models

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(models, "register_model")
def _refuse_taken_names(stock: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    register = stock(name, *args, **kwargs)

    def checked(model: Any) -> Any:
        registered = register(model)
        if model.__module__.startswith("fairseq.") or _origin(model) == _origin(registered):
            return registered
        raise UserError(
            f"{_full_name(model)} cannot be registered as {name}: {_full_name(registered)} has "
            "that name; choose another one in @register_model"
        )

    return checked


def _origin(kind: Any) -> Tuple[str, str]:
    """The file that defines a class, and its name there."""
    try:
        return os.path.realpath(inspect.getfile(kind)), kind.__qualname__
    except (OSError, TypeError):  # defined in no file
        return kind.__module__, kind.__qualname__


def _full_name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
