"""Parts of other installed packages, found by entry points.

An entry point in the group ``fairseq_outlayers.output_layers`` (``samplers``, ``compositions``,
``source_embeddings``) adds a part under its name (CONTRIBUTING.md, "In a package of your own").
"""

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.registry import Selection


def add_installed_parts(selection: Selection, interface: type) -> None:
    """Add the parts of other packages to a registry, before its options are made.

    Args:
        selection: an axis; ``output_layer`` for the group ``fairseq_outlayers.output_layers``.
        interface: the base class of its entries.
    Raises:
        UserError: if an entry point cannot be loaded, is no subclass of ``interface``, or its name
            is taken.
    """
    for point in _installed().select(group=f"fairseq_outlayers.{selection.option}s"):
        if point.name in selection.registry:
            raise UserError(
                f"{_described(point)}: there is a part of this name already: rename the entry point"
            )
        part = _loaded(point)
        if not (isinstance(part, type) and issubclass(part, interface)):
            raise UserError(f"{_described(point)}: is not a subclass of {interface.__name__}")
        selection.registry[point.name] = part


@functools.cache
def _installed() -> Any:
    return entry_points()


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except UserError:
        raise
    except Exception as error:
        # Imported from within the part's own module, which is not complete yet.
        remedy = (
            f"put `import fairseq_outlayers` into {point.module.partition('.')[0]}/__init__.py"
            if isinstance(error, AttributeError)
            else "repair or uninstall that package"
        )
        raise UserError(f"{_described(point)}: cannot be loaded: {error}: {remedy}") from error


def _described(point: EntryPoint) -> str:
    package = point.dist.name if point.dist else "a package"
    return f"entry point {point.name} = {point.value} of {package} ({point.group})"
