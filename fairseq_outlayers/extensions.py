"""Parts of other installed packages, found by entry points.

An entry point in the group ``fairseq_outlayers.output_layers`` (``samplers``, ``compositions``,
``source_embeddings``) adds a part under its name; one in ``fairseq_outlayers.models`` names a
module that registers models (CONTRIBUTING.md, "In a package of your own").
"""

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.registry import Selection

GROUPS = "fairseq_outlayers."


def add_installed_parts(selection: Selection, interface: type) -> None:
    """Add the parts of other packages to a registry, before its options are made.

    Args:
        selection: an axis; ``output_layer`` for the group ``fairseq_outlayers.output_layers``.
        interface: the base class of its entries.
    Raises:
        UserError: if an entry point cannot be loaded, is no subclass of ``interface``, or its name
            is taken.
    """
    for point in _installed().select(group=f"{GROUPS}{selection.option}s"):
        if point.name in selection.registry:
            raise UserError(
                f"{_described(point)}: there is a part of this name already: rename the entry point"
            )
        part = _loaded(point)
        if not (isinstance(part, type) and issubclass(part, interface)):
            raise UserError(f"{_described(point)}: is not a subclass of {interface.__name__}")
        selection.registry[point.name] = part


def import_installed_models() -> None:
    """Import the modules of other packages that register models, after all of ours.

    Raises:
        UserError: if one cannot be imported.
    """
    for point in _installed().select(group=f"{GROUPS}models"):
        _loaded(point)


@functools.cache
def _installed() -> Any:
    return entry_points()


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
    if f"partially initialized module '{GROUPS}" in str(error):
        return (
            f"if {package}/__init__.py imports a model, name the model's module by an entry point "
            f"of the group {GROUPS}models instead"
        )
    # The module lacks the class: misspelt, or imported within itself and not complete yet.
    if isinstance(error, AttributeError) and point.attr and f"'{point.attr}'" in str(error):
        return (
            f"is {point.attr} the name of the class? If so, put `import fairseq_outlayers` into "
            f"{package}/__init__.py"
        )
    return "repair or uninstall that package"


def _described(point: EntryPoint) -> str:
    package = point.dist.name if point.dist else "a package"
    return f"entry point {point.name} = {point.value} of {package} ({point.group})"
