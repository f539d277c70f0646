"""The exception for users' mistakes."""

from typing import Any


class UserError(ValueError):
    """A mistake of the user's, said in one line: what, where, which value, what to do.

    fairseq's command lines show it without a traceback
    (``patches/conveniences/clear_errors.py``).
    """


def refuse_idle(config: Any, defaults: Any, option: str, needed: str) -> None:
    """Refuse an option that is given and changes nothing without another.

    Args:
        config: has the option.
        defaults: has its default.
        option: its name in both.
        needed: the other's name on the command line.
    Raises:
        UserError: if the option is not at its default.
    """
    value = getattr(config, option)
    if str(value) != str(getattr(defaults, option)):
        given = f"--{option.replace('_', '-')}" + ("" if value is True else f" {value}")
        raise UserError(f"{given} has no meaning without {needed}: give that too, or leave it out")
