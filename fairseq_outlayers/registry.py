"""Plain dictionaries of named parts, and the command-line options that follow from them.

fairseq's own registries cannot be extended from a ``--user-dir``, and they give one option
namespace a part. Here a registry is a ``dict``; every entry carries its own ``Config`` dataclass,
and :func:`selection_config` joins them into one mix-in, so that a new part with options of its own
is one file plus one line in the dict.
"""

from dataclasses import field, fields, make_dataclass
from typing import Any, Dict

from fairseq_outlayers.choices import ChoiceEnum
from fairseq_outlayers.errors import UserError


def lookup(registry: Dict[str, Any], name: str, option: str) -> Any:
    """The entry called ``name``.

    Raises:
        UserError: if there is none; the message lists the known names.
    """
    if name not in registry:
        known = ", ".join(sorted(registry))
        raise UserError(f"{option} {name}: no such choice. Known: {known}")
    return registry[name]


def selection_config(
    class_name: str, registry: Dict[str, Any], option: str, default: str, help_text: str
) -> Any:
    """A dataclass with the field ``option`` that selects an entry, and every entry's own options.

    Args:
        class_name: name of the dataclass made.
        registry: entries with a ``Config`` dataclass, by name.
        option: name of the selecting field, ``output_layer`` for ``--output-layer``.
        default: name of the entry selected when the option is not given.
        help_text: help of the selecting option; the known names are added by argparse.
    """
    lookup(registry, default, option)
    selector = (
        option,
        ChoiceEnum(list(registry)),
        field(default=default, metadata={"help": help_text}),
    )
    configs: list[Any] = []
    for entry in registry.values():
        if entry.Config not in configs:
            configs.append(entry.Config)
    # A base class may not stand before its own subclasses in the list of bases.
    most_derived = [
        config
        for config in configs
        if not any(other is not config and issubclass(other, config) for other in configs)
    ]
    made = make_dataclass(class_name, [selector], bases=tuple(most_derived))
    made.__module__ = __name__
    return made


def changed_defaults(class_name: str, config: Any, **defaults: Any) -> Any:
    """A dataclass like ``config`` but for the defaults of some of its options.

    Args:
        class_name: name of the dataclass made.
        config: a dataclass of options.
        defaults: by name of the option.
    """
    known = {option.name: option for option in fields(config)}
    changed = [
        (option, known[option].type, field(default=value, metadata=known[option].metadata))
        for option, value in defaults.items()
    ]
    made = make_dataclass(class_name, changed, bases=(config,))
    made.__module__ = __name__
    return made
