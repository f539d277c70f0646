"""The exception for users' mistakes, checks that raise it, and options as messages spell them."""

import os
from pathlib import Path
from typing import Any, Callable, Union


class UserError(ValueError):
    """A user's mistake, in one line: what, where, which value, what to do.

    fairseq's command lines show it without a traceback
    (``patches/conveniences/clear_errors.py``).
    """


def require_checkpoint(path: Union[str, Path]) -> None:
    """Raise a :class:`UserError` if there is no such checkpoint, or it is a folder."""
    if Path(path).is_dir():
        raise UserError(f"{path}: a folder; give a checkpoint in it, checkpoint_best.pt say")
    if not Path(path).is_file():
        raise UserError(f"{path}: no such checkpoint")


def require_new_file(output: Path) -> None:
    """Raise a :class:`UserError` if ``--output`` exists, or its folder does not or is read-only."""
    if output.exists():
        raise UserError(f"--output {output}: already exists; name a new file")
    if not output.parent.is_dir():
        raise UserError(f"--output {output}: no folder {output.parent}; create it first")
    require_writable(output, output.parent)


def require_new_path(output: Path) -> None:
    """Raise a :class:`UserError` if there is such a file or folder."""
    if output.exists():
        raise UserError(f"{output} exists: name another --output, or remove it")


def padding_in_text(place: object, word: str, number: int) -> UserError:
    """The error for a text to score that has fairseq's padding as a word."""
    return UserError(
        f"{place}: has the word {word} {number} times, fairseq's padding, which is not a word to "
        "predict: replace it in the text"
    )


def returns_within_lines(path: str, number: int) -> UserError:
    """The error for a text in which fairseq would find more lines than there are line feeds."""
    return UserError(
        f"{path}: {number} carriage returns within lines, which fairseq takes for line ends: "
        "remove them (tr -d '\\r')"
    )


def require_writable(output: Path, folder: Path) -> None:
    """Raise a :class:`UserError` if ``--output`` cannot be created in its folder."""
    if not is_writable_folder(folder):
        raise UserError(f"--output {output}: the folder {folder} is not writable; name another")


def is_writable_folder(folder: Path) -> bool:
    """Whether files can be created in a folder, or in the nearest existing one above it."""
    real = Path(os.path.realpath(folder))
    return os.access(next(one for one in (real, *real.parents) if one.exists()), os.W_OK | os.X_OK)


def as_flag(option: str, value: Any = True) -> str:
    """An option as on the command line.

    Args:
        option: its name, with dashes or underscores.
        value: its value; True for a flag, or for the name alone.
    """
    flag = f"--{option.replace('_', '-')}"
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return flag if value is True else f"{flag} {text}"


def changes_nothing(
    option: str, value: Any, where: str, remedy: str, spelled: Callable[..., str] = as_flag
) -> UserError:
    """The error for an option without effect.

    Args:
        option: its name, with dashes or underscores.
        value: its value; True for a flag.
        where: it has no effect, in words.
        remedy: what to do.
        spelled: an option in messages, of its name and value.
    """
    return UserError(f"{spelled(option, value)} has no effect {where}: {remedy}")


def refuse_idle(config: Any, defaults: Any, needed: str, *options: str) -> None:
    """Refuse options that have no effect without another.

    Args:
        config: has the options.
        defaults: has their defaults.
        needed: the other option, as on the command line.
        options: their names in both.
    Raises:
        UserError: for the first option that is not at its default.
    """
    for option in options:
        value = getattr(config, option)
        if str(value) != str(getattr(defaults, option)):
            raise changes_nothing(option, value, f"without {needed}", "add that, or leave it out")
