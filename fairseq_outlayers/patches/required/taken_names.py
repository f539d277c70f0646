"""Refuse a model whose name another one has.

fairseq's ``register_model`` (fairseq/models/__init__.py) ignores a class with a registered name and
returns the other class, so a copy of a model that was not renamed would train the original. A class
that is defined again, by a reload of its module, is left to fairseq.
"""

from typing import Any, Callable

from fairseq import models

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(models, "register_model")
def _refuse_taken_names(stock: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
    register = stock(name, *args, **kwargs)

    def checked(model: Any) -> Any:
        registered = register(model)
        own, other = _full_name(model), _full_name(registered)
        if own != other and not own.startswith("fairseq."):
            raise UserError(
                f"{own} cannot be registered as {name}: {other} has that name; choose another one "
                "in @register_model"
            )
        return registered

    return checked


def _full_name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
