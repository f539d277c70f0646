"""The page of all options, generated from the registries.

``fairseq-train --arch NAME --help`` never shows a plugin's options. ``docs/options.md`` does; it is
the output of this module.
"""

import argparse
from typing import Any, Dict, Iterator, List, Tuple

from fairseq.criterions import CRITERION_DATACLASS_REGISTRY, CRITERION_REGISTRY
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import ARCH_MODEL_INV_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_DATACLASS_REGISTRY, OPTIMIZER_REGISTRY
from fairseq.optim.lr_scheduler import LR_SCHEDULER_DATACLASS_REGISTRY, LR_SCHEDULER_REGISTRY
from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY

from fairseq_outlayers.commands.base import Command
from fairseq_outlayers.compositions import COMPOSITIONS
from fairseq_outlayers.options import (
    CompositionConfig,
    OutputLayerConfig,
    SamplerConfig,
    SourceEmbeddingConfig,
)
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from fairseq_outlayers.samplers import SAMPLERS
from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDINGS

OURS = "fairseq_outlayers."

# The option that selects, fairseq's registry of classes, and its registry of dataclasses.
KINDS: List[Tuple[str, str, Dict[str, Any], Dict[str, Any]]] = [
    ("Architectures", "--arch", MODEL_REGISTRY, MODEL_DATACLASS_REGISTRY),
    ("Criterions", "--criterion", CRITERION_REGISTRY, CRITERION_DATACLASS_REGISTRY),
    ("Optimizers", "--optimizer", OPTIMIZER_REGISTRY, OPTIMIZER_DATACLASS_REGISTRY),
    (
        "Learning-rate schedules",
        "--lr-scheduler",
        LR_SCHEDULER_REGISTRY,
        LR_SCHEDULER_DATACLASS_REGISTRY,
    ),
    ("Tasks", "--task", TASK_REGISTRY, TASK_DATACLASS_REGISTRY),
]

# Title, option, where it applies, entries, and the dataclass of their options.
REGISTRIES: List[Tuple[str, str, str, Dict[str, Any], Any]] = [
    (
        "Output layers",
        "output_layer",
        "For every architecture below.",
        OUTPUT_LAYERS,
        OutputLayerConfig,
    ),
    (
        "Compositions",
        "composition",
        "For `--output-layer subword`, and for the input of `--arch subword_lm`.",
        COMPOSITIONS,
        CompositionConfig,
    ),
    (
        "Samplers",
        "sampler",
        "For every criterion below that samples.",
        SAMPLERS,
        SamplerConfig,
    ),
    (
        "Source embeddings",
        "source_embedding",
        "For every architecture below that translates. The Transformers scale its vectors by the "
        "square root of their size, as they scale embeddings of their own, and refuse "
        "`--external-map per_direction`; with `--normalize-external` both kinds of vectors start "
        "equally large there.",
        SOURCE_EMBEDDINGS,
        SourceEmbeddingConfig,
    ),
]

HEAD = """# Options

Every option that this package adds to fairseq's. Written by `python -m fairseq_outlayers options`.
Options of fairseq's own that an architecture inherits are not repeated here.
"""
TABLE = ["| option | values | default | meaning |", "|---|---|---|---|"]


def options_page() -> str:
    """Markdown: the parts of ours by kind, and each part's options with default and meaning."""
    lines = [HEAD]
    for registry in REGISTRIES:
        lines += _registry(*registry)
    for title, selector, classes, dataclasses in KINDS:
        parts = [name for name in sorted(classes) if classes[name].__module__.startswith(OURS)]
        if parts:
            lines.append(f"## {title}\n")
        for name in parts:
            lines += _section(selector, name, classes, dataclasses)
    return "\n".join(lines)


def option_owners(option: str) -> List[str]:
    """The parts of this package that take an option, each as ``--arch luong_lstm``.

    An architecture comes before its named sizes, which take the same options.
    """
    owners: List[str] = []
    sizes: List[str] = []
    for _, selector, classes, dataclasses in KINDS:
        ours = {name: part for name, part in classes.items() if part.__module__.startswith(OURS)}
        for name, part in ours.items():
            actions = _actions(part, dataclasses.get(name))
            if any(option in action.option_strings for action in actions):
                is_size = any(base in ours.values() for base in part.__mro__[1:])
                (sizes if is_size else owners).append(f"{selector} {name}")
                twins = ARCH_MODEL_INV_REGISTRY.get(name, []) if selector == "--arch" else []
                sizes += [f"{selector} {twin}" for twin in twins if twin != name]
    return owners + sizes


def _registry(
    title: str, option: str, remark: str, registry: Dict[str, Any], config: Any
) -> Iterator[str]:
    """One of our own registries: what each entry is, and the options of all of them."""
    selector = f"--{option.replace('_', '-')}"
    yield f"## {title}\n"
    yield remark + "\n"
    yield f"| `{selector}` | meaning |"
    yield "|---|---|"
    for name, entry in registry.items():
        yield f"| `{name}` | {_summary(entry)} |"
    yield ""
    yield from TABLE
    # The options of compositions are part of the output layer's, and have a table of their own.
    inner = CompositionConfig.__dataclass_fields__ if config is OutputLayerConfig else {}
    actions = [action for action in _actions(None, config) if action.dest not in inner]
    yield from map(_row, sorted(actions, key=lambda action: action.dest != option))
    yield ""


def _section(
    selector: str, name: str, classes: Dict[str, Any], dataclasses: Dict[str, Any]
) -> Iterator[str]:
    part, dataclass = classes[name], dataclasses.get(name)
    yield f"### `{selector} {name}`\n"
    yield _summary(part) + "\n"
    twins = [arch for arch in ARCH_MODEL_INV_REGISTRY.get(name, []) if arch != name]
    if selector == "--arch" and twins:
        yield "Named sizes: " + ", ".join(f"`{twin}`" for twin in sorted(twins)) + "\n"
    base = next((n for n, c in classes.items() if c in part.__mro__[1:] and n in dataclasses), None)
    if base is not None and part.__module__ == classes[base].__module__:
        before = {action.dest: action.default for action in _actions(None, dataclasses[base])}
        rows = [a for a in _actions(None, dataclass) if a.default != before[a.dest]]
        yield f"As `{selector} {base}`, {'but for' if rows else 'with its defaults.'}\n"
    else:
        known = _stock_options(part, dataclass)
        rows = [a for a in _actions(part, dataclass) if a.dest not in known and a.option_strings]
    rows = [action for action in rows if action.help != argparse.SUPPRESS]
    if rows:
        yield from TABLE
        yield from map(_row, rows)
        yield ""


def _summary(part: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((part.__doc__ or "").strip().split("\n\n")[0].split()).replace("``", "`")


def _row(action: argparse.Action) -> str:
    if action.choices:
        values = ", ".join(f"`{choice}`" for choice in action.choices)
    else:
        values = getattr(action.type, "__name__", "flag")
    unset = action.default is None or action.default is False or action.default == ""
    default = "" if unset else f"`{action.default}`"
    return f"| `{action.option_strings[0]}` | {values} | {default} | {action.help} |"


def _actions(part: Any, dataclass: Any) -> List[argparse.Action]:
    parser = argparse.ArgumentParser(add_help=False)
    if dataclass is not None:
        gen_parser_from_dataclass(parser, dataclass())
    elif hasattr(part, "add_args"):
        part.add_args(parser)
    return parser._actions


def _stock_options(part: Any, dataclass: Any) -> List[str]:
    """Names of the options that are fairseq's own, or a registry's, with their default."""
    here = getattr(dataclass, "__dataclass_fields__", {})

    def unchanged(base: Any) -> Iterator[str]:
        for name, option in getattr(base, "__dataclass_fields__", {}).items():
            if name not in here or here[name].default == option.default:
                yield name

    known = [name for *_, config in REGISTRIES for name in unchanged(config)]
    bases = (part if dataclass is None else dataclass).__mro__
    stock = [base for base in bases if base.__module__.startswith("fairseq.")]
    if dataclass is not None:
        return known + [name for base in stock for name in unchanged(base)]
    with_options = [base for base in stock if hasattr(base, "add_args")]
    return known + [action.dest for action in _actions(with_options[0], None)]


COMMAND = Command(
    summary="Print every option of this package, in Markdown",
    example="> options.md",
    add_arguments=lambda parser: None,
    run=lambda options: print(options_page(), end=""),
)
