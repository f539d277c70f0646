"""The page of all options, read from what is registered with fairseq.

``fairseq-train --arch NAME --help`` never shows a plugin's options. ``docs/options.md`` does; it is
the output of this module.
"""

import argparse
from typing import Any, Dict, Iterator, List, Tuple

from fairseq.criterions import CRITERION_DATACLASS_REGISTRY, CRITERION_REGISTRY
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import ARCH_MODEL_INV_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_DATACLASS_REGISTRY, OPTIMIZER_REGISTRY
from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY

OURS = "fairseq_outlayers."

# The option that selects, fairseq's registry of classes, and its registry of dataclasses.
KINDS: List[Tuple[str, str, Dict[str, Any], Dict[str, Any]]] = [
    ("Architectures", "--arch", MODEL_REGISTRY, MODEL_DATACLASS_REGISTRY),
    ("Criterions", "--criterion", CRITERION_REGISTRY, CRITERION_DATACLASS_REGISTRY),
    ("Optimizers", "--optimizer", OPTIMIZER_REGISTRY, OPTIMIZER_DATACLASS_REGISTRY),
    ("Tasks", "--task", TASK_REGISTRY, TASK_DATACLASS_REGISTRY),
]

HEAD = """# Options

Every option that this package adds to fairseq's. Written by `python -m fairseq_outlayers options`.
Options of fairseq's own that an architecture inherits are not repeated here.
"""


def options_page() -> str:
    """Markdown: for each registered part of ours its options, with default and meaning."""
    lines = [HEAD]
    for title, selector, classes, dataclasses in KINDS:
        parts = [name for name in sorted(classes) if classes[name].__module__.startswith(OURS)]
        if parts:
            lines.append(f"## {title}\n")
        for name in parts:
            lines += _section(selector, name, classes[name], dataclasses.get(name))
    return "\n".join(lines)


def _section(selector: str, name: str, part: Any, dataclass: Any) -> Iterator[str]:
    yield f"### `{selector} {name}`\n"
    summary = (part.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
    if summary:
        yield " ".join(summary.split()) + "\n"
    sizes = [arch for arch in ARCH_MODEL_INV_REGISTRY.get(name, []) if arch != name]
    if selector == "--arch" and sizes:
        yield "Named sizes: " + ", ".join(f"`{size}`" for size in sorted(sizes)) + "\n"
    rows = list(_rows(part, dataclass))
    if rows:
        yield "| option | values | default | meaning |"
        yield "|---|---|---|---|"
        yield from rows
    else:
        yield "No options of its own."
    yield ""


def _rows(part: Any, dataclass: Any) -> Iterator[str]:
    """One table row an option of ours, in the order of definition."""
    stock = _stock_options(part, dataclass)
    for action in _actions(part, dataclass):
        if action.dest in stock or not action.option_strings:
            continue
        if action.choices:
            values = ", ".join(f"`{choice}`" for choice in action.choices)
        else:
            values = getattr(action.type, "__name__", "flag")
        unset = action.default is None or action.default is False
        default = "" if unset else f"`{action.default}`"
        yield f"| `{action.option_strings[0]}` | {values} | {default} | {action.help} |"


def _actions(part: Any, dataclass: Any) -> List[argparse.Action]:
    parser = argparse.ArgumentParser(add_help=False)
    if dataclass is not None:
        gen_parser_from_dataclass(parser, dataclass())
    elif hasattr(part, "add_args"):
        part.add_args(parser)
    return parser._actions


def _stock_options(part: Any, dataclass: Any) -> List[str]:
    """Names of the options that come from fairseq's own base classes."""
    bases = (part if dataclass is None else dataclass).__mro__
    stock = [base for base in bases if base.__module__.startswith("fairseq.")]
    if dataclass is not None:
        return [name for base in stock for name in getattr(base, "__dataclass_fields__", {})]
    with_options = [base for base in stock if hasattr(base, "add_args")]
    return [action.dest for action in _actions(with_options[0], None)] if with_options else []
