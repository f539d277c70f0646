"""Parts of other installed packages, found by entry points.

An entry point in the group ``fairseq_outlayers.output_layers`` (``samplers``, ``compositions``,
``source_embeddings``) adds a part under its name; one in ``fairseq_outlayers.models`` or
``.criterions`` names a module that registers them (CONTRIBUTING.md, "In a package of your own").
"""

import functools
import inspect
from dataclasses import MISSING, fields, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Set

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.registry import Selection
from fairseq_outlayers.suggestions import did_you_mean

GROUP_PREFIX = "fairseq_outlayers."
PART_GROUPS = ("output_layers", "samplers", "compositions", "source_embeddings")
MODULE_GROUPS = ("models", "criterions")


def add_installed_parts(selection: Selection, interface: type) -> None:
    """Add the parts of other packages to a registry, before its options are made.

    Args:
        selection: an axis; ``output_layer`` for the group ``fairseq_outlayers.output_layers``.
        interface: the base class of its entries.
    Raises:
        UserError: if an entry point cannot be loaded, is no complete subclass of ``interface``, or
            its name is taken.
    """
    for point in _entry_points(f"{selection.option}s"):
        if point.name in selection.registry:
            raise UserError(
                f"{_described(point)}: there is a part of this name already: rename the entry point"
            )
        part = _loaded(point)
        if not (isinstance(part, type) and issubclass(part, interface)):
            raise UserError(f"{_described(point)}: is not a subclass of {interface.__name__}")
        if flaw := _flaw(part, interface):
            raise UserError(f"{_described(point)}: {part.__name__} {flaw}")
        selection.registry[point.name] = part


def import_installed_modules() -> None:
    """Import the modules of other packages that register models and criterions, after all of ours.

    Raises:
        UserError: if one cannot be imported, or a package has an entry point of an unknown group.
    """
    for group in MODULE_GROUPS:
        for point in _entry_points(group):
            _loaded(point)


def installed_packages() -> Set[str]:
    """Names of the packages whose parts, models or criterions are found here."""
    points = [point for group in (*PART_GROUPS, *MODULE_GROUPS) for point in _entry_points(group)]
    return {point.module.partition(".")[0] for point in points}


def _entry_points(group: str) -> Any:
    return _installed().select(group=GROUP_PREFIX + group)


def _flaw(part: type, interface: Any) -> str:
    """What a part of an interface lacks, as the end of a sentence; empty if nothing."""
    for name in dir(interface):
        if getattr(getattr(part, name, None), "__isabstractmethod__", False):
            return f"does not define {name}, which {interface.__name__} leaves to its subclasses"
    config: Any = part.Config  # type: ignore[attr-defined]
    if not (isinstance(config, type) and is_dataclass(config)):
        return "has a Config that is no dataclass"
    for option in fields(config):
        if option.default is MISSING:
            return f"has a Config whose {option.name} has no default value, which an option needs"
    known = {option.name for option in fields(config)}
    for kind in config.__mro__:
        for name, annotation in inspect.get_annotations(kind).items():
            if name not in known and "ClassVar" not in str(annotation):
                return f"has a Config whose {name} is ignored: {kind.__name__} needs @dataclass"
    return ""


@functools.cache
def _installed() -> Any:
    found = entry_points()
    known = [GROUP_PREFIX + group for group in (*PART_GROUPS, *MODULE_GROUPS)]
    for group in sorted(found.groups):
        if group.startswith(GROUP_PREFIX) and group not in known:
            point = next(iter(found.select(group=group)))
            groups = ", ".join(known)
            hint = did_you_mean(group, known)
            raise UserError(f"{_described(point)}: no such group; known are {groups}{hint}")
    return found


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except UserError:
        raise
    except Exception as error:
        remedy = _remedy(point, error)
        raise UserError(f"{_described(point)}: cannot be loaded: {error}: {remedy}") from error


def _remedy(point: EntryPoint, error: Exception) -> str:
    package = point.module.partition(".")[0]
    if f"partially initialized module '{GROUP_PREFIX}" in str(error):
        return (
            f"if {package}/__init__.py imports a model, name the model's module by an entry point "
            f"of the group {GROUP_PREFIX}models instead"
        )
    # The module lacks the class: misspelt, or imported within itself and not complete yet.
    if isinstance(error, AttributeError) and point.attr and f"'{point.attr}'" in str(error):
        return (
            f"is {point.attr} the name of the class? If so, put `import fairseq_outlayers` into "
            f"{package}/__init__.py"
        )
    return f"repair {point.module}, or uninstall the package"


def _described(point: EntryPoint) -> str:
    package = point.dist.name if point.dist else "a package"
    return f"entry point {point.name} = {point.value} of {package} ({point.group})"
