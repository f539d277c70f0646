"""Refuse interpolations in the options of a checkpoint.

fairseq converts the options to an omegaconf object (``load_checkpoint_to_cpu``,
``convert_namespace_to_omegaconf``), which resolves a value such as ``${oc.env:HOME}`` on access: a
checkpoint could read the environment and call any registered resolver. fairseq resolves all values
before it saves (``Trainer.state_dict``), so the patch refuses a checkpoint with such a value.
``convert_namespace_to_omegaconf`` evaluates texts that are literals, such as
``"'\\x24{oc.env:HOME}'"``, so their values are checked, too.

The options of the last opened checkpoint are stored, so that errors can name the option of a value.
"""

import ast
from argparse import Namespace
from typing import Any, Callable, Iterator, Optional, Tuple

from fairseq import checkpoint_utils
from omegaconf import OmegaConf

from fairseq_outlayers.errors import UserError, as_flag
from fairseq_outlayers.patches.replacing import replaces


class _Opened:
    path: str = "the checkpoint"
    options: Any = None


def apply() -> None:
    """Replace omegaconf's factory in ``checkpoint_utils``."""
    if not issubclass(checkpoint_utils.OmegaConf, _CheckedConf):
        checkpoint_utils.OmegaConf = _CheckedConf


class _CheckedConf(OmegaConf):
    """omegaconf's factory, but refuses interpolations."""

    @staticmethod
    def create(obj: Any = None, *args: Any, **kwargs: Any) -> Any:
        _refuse_interpolations(obj)
        return OmegaConf.create(obj, *args, **kwargs)


def plain(options: Any, **how: Any) -> Any:
    """A Namespace or an omegaconf object as a container of Python; anything else is not changed.

    Args:
        options: of a checkpoint or a command.
        how: options of omegaconf's ``to_container``.
    """
    if isinstance(options, Namespace):
        return vars(options)
    return OmegaConf.to_container(options, **how) if OmegaConf.is_config(options) else options


def last_options() -> Any:
    """The options of the last opened checkpoint, None before the first."""
    return _Opened.options


def name_of(value: Any) -> Optional[str]:
    """``FILE: --option`` for an option of the last checkpoint that has this value."""
    for name, other in _values(_Opened.options):
        if type(other) is type(value) and other == value:
            return f"{_Opened.path}: {_option(name)}"
    return None


def _option(name: str) -> str:
    return as_flag(name.rpartition(".")[2])


@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _with_its_path_known(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    _Opened.path, _Opened.options = str(path), None
    return stock(path, *args, **kwargs)


@replaces(checkpoint_utils, "convert_namespace_to_omegaconf")
def _refuse_interpolations_of_args(stock: Callable[..., Any], args: Any) -> Any:
    _refuse_interpolations(args)
    return stock(args)


def _refuse_interpolations(options: Any) -> None:
    _Opened.options = options
    for name, value in _values(options):
        if isinstance(value, str) and ("${" in value or "${" in _literal(value)):
            raise UserError(
                f"{_Opened.path} was not loaded: its option {_option(name)} is {value[:60]!r}, an "
                "omegaconf interpolation, which fairseq never saves. Use a checkpoint from a "
                "source that you trust."
            )


def _literal(text: str) -> str:
    """The value of a text that is a literal, as text; empty if it is none."""
    try:
        return str(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ""


def _values(options: Any, name: str = "") -> Iterator[Tuple[str, Any]]:
    """Nested containers with all their values and keys, each after the name of its option."""
    options = plain(options, resolve=False)
    if isinstance(options, dict):
        for key, value in options.items():
            inner = f"{name}.{key}" if name else str(key)
            yield inner, str(key)
            yield from _values(value, inner)
        return
    yield name, options
    if isinstance(options, (list, tuple, set)):
        for value in options:
            yield from _values(value, name)
