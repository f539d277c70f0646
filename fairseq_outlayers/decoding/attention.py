"""Refuse options that read attention where a model returns none."""

from typing import Any, Callable, Mapping

from fairseq_outlayers.errors import UserError, as_flag


def require_attention(
    models: Any, options: Mapping[str, Any], spelled: Callable[..., str] = as_flag
) -> None:
    """Refuse options if no model has attention, as with ``--no-cross-attention``.

    Other models without attention are known only from their output.

    Args:
        models: a list, or fairseq's ensemble.
        options: values by name.
        spelled: an option in messages, of its name.
    Raises:
        UserError: for the first option with a value.
    """
    members = list(getattr(models, "models", models))
    given = [name for name, value in options.items() if value]
    if given and members and all(map(_has_no_attention, members)):
        raise no_attention(spelled(given[0]))


def no_attention(option: str) -> UserError:
    """The error for an option, as messages spell it, of a model that returns no attention."""
    return UserError(f"{option} needs attention, which this model does not return: leave it out")


def _has_no_attention(model: Any) -> bool:
    return getattr(getattr(model, "cfg", None), "no_cross_attention", False)
