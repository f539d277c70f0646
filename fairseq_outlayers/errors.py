"""The exception for users' mistakes."""

from typing import Any


class UserError(ValueError):
    """A mistake of the user's, said in one line: what, where, which value, what to do.

    fairseq's command lines show it without a traceback
    (``patches/conveniences/clear_errors.py``).
    """


def changes_nothing(option: str, value: Any, where: str, remedy: str) -> UserError:
    """Of an option that is given and has no effect.

    Args:
        option: its name, with dashes or underscores.
        value: that it is given; True for a flag.
        where: it has none, in words.
        remedy: what to do.
    """
    flag = f"--{option.replace('_', '-')}"
    said = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    given = flag if value is True else f"{flag} {said}"
    return UserError(f"{given} changes nothing {where}: {remedy}")


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
        raise changes_nothing(option, value, f"without {needed}", "give that too, or leave it out")
