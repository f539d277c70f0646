"""Registries of named parts, the option that selects one, and the options of each.

A registry is a ``dict``; every entry has a ``Config`` dataclass with its own options. A
:class:`Selection` defines the selecting option, and refuses options of entries that are not
selected. ``options.py`` converts it to command-line options.
"""

from dataclasses import Field, field, fields, make_dataclass
from typing import Any, Container, Dict, Iterator, List, Optional, Sequence, Tuple

from fairseq_outlayers.errors import UserError, as_flag, changes_nothing
from fairseq_outlayers.ranges import check_ranges
from fairseq_outlayers.suggestions import did_you_mean


def lookup(registry: Dict[str, Any], name: str, option: str) -> Any:
    """The entry ``name``.

    Raises:
        UserError: if there is none; the message lists the known names.
    """
    if name not in registry:
        known = ", ".join(sorted(registry))
        hint = did_you_mean(str(name), registry)
        raise UserError(f"{option} {name}: unknown; choose from {known}{hint}")
    return registry[name]


class Selection:
    """One axis: entries by name, and the option that selects one of them.

    Args:
        registry: entries with a ``Config`` dataclass, by name.
        option: name of the selecting option, ``output_layer`` for ``--output-layer``.
        default: name of the default entry.
        help_text: of the selecting option.
        others: further valid names.
    Raises:
        UserError: if the default is not an entry.
    """

    def __init__(
        self,
        registry: Dict[str, Any],
        option: str,
        default: str,
        help_text: str,
        others: Sequence[str] = (),
    ):
        lookup(registry, default, as_flag(option))
        self.registry, self.option, self.default = registry, option, default
        self.help_text, self.others = help_text, others

    def names(self) -> List[str]:
        """All choices."""
        return [*self.registry, *self.others]

    def options(self) -> Dict[str, Field]:
        """The options of all entries, by name.

        Raises:
            UserError: if two entries have different options with one name.
        """
        found: Dict[str, Field] = {}
        for entry in self.registry.values():
            for option in fields(entry.Config):
                if found.setdefault(option.name, option) is not option:
                    raise UserError(
                        f"{' and '.join(self.owners(option.name))} have different options "
                        f"{as_flag(option.name)}: rename one, or let both inherit it "
                        "from one Config"
                    )
        return {name: option for name, option in found.items() if not name.startswith("_")}

    def owners(self, option: str) -> List[str]:
        """Names of the entries that have an option of this name."""
        return [
            name
            for name, entry in self.registry.items()
            if option in entry.Config.__dataclass_fields__
        ]

    def config(self, class_name: str) -> Any:
        """A plain dataclass with the selecting option and those of all entries."""
        self.options()  # refuses two options of one name
        configs: List[Any] = []
        for entry in self.registry.values():
            if entry.Config not in configs:
                configs.append(entry.Config)
        # A base class must not precede its subclasses in the list of bases.
        most_derived = tuple(
            config
            for config in configs
            if not any(other is not config and issubclass(other, config) for other in configs)
        )
        metadata = {"help": self.help_text, "choices": self.names()}
        selector = (self.option, str, field(default=self.default, metadata=metadata))
        return make_dataclass(class_name, [selector], bases=most_derived)

    def choose(self, config: Any) -> Any:
        """The entry selected by ``config``.

        Raises:
            UserError: if there is none, or an option of other entries is given: one that differs
                from the default of the configuration's class. A class that reads other parts'
                options, too, names them in ``also_reads``; if it names this registry's selecting
                option there, only the selected entry's options are read all the same.
        """
        name = getattr(config, self.option)
        entry = lookup(self.registry, name, as_flag(self.option))
        self.refuse_unselected(config)
        check_ranges(config, entry.Config)
        return entry

    def refuse_unselected(self, config: Any) -> None:
        """Raise ``UserError`` for the first given option of an entry that is not selected."""
        idle = [name for name, _ in self.idle(config)]
        if idle:
            raise changes_nothing(
                idle[0],
                getattr(config, idle[0]),
                f"with {as_flag(self.option)} {getattr(config, self.option)}",
                f"it is an option of {', '.join(self.owners(idle[0]))}; select one of them, or "
                "leave it out",
            )

    def idle(self, config: Any, kind: Optional[type] = None) -> Iterator[Tuple[str, Any]]:
        """Given options that only entries that are not selected have.

        Args:
            config: of a model or a criterion.
            kind: the dataclass with its defaults; by default that of ``config``.
        Yields:
            The name and the default.
        """
        chosen, kind = getattr(config, self.option), kind or class_of(config)
        also_reads: Container[str] = getattr(kind, "also_reads", ())
        if self.option in also_reads:  # it reads the options of the selected entry
            also_reads = ()
        declared = getattr(kind, "__dataclass_fields__", {})
        for name, option in self.options().items():
            if name in also_reads or chosen in self.owners(name) or not hasattr(config, name):
                continue
            default = declared.get(name, option).default
            # A choice may be an enumeration or its name.
            if str(getattr(config, name)) != str(default):
                yield name, default


def class_of(config: Any) -> type:
    """The dataclass of a configuration, also if omegaconf has wrapped it."""
    metadata = getattr(config, "_metadata", None)
    return getattr(metadata, "object_type", None) or type(config)
