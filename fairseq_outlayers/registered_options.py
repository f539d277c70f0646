"""Which part of this package takes an option, by the registries of fairseq."""

import argparse
from typing import Any, Dict, List, Tuple

from fairseq.criterions import CRITERION_DATACLASS_REGISTRY, CRITERION_REGISTRY
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import ARCH_MODEL_INV_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from fairseq.optim import OPTIMIZER_DATACLASS_REGISTRY, OPTIMIZER_REGISTRY
from fairseq.optim.lr_scheduler import LR_SCHEDULER_DATACLASS_REGISTRY, LR_SCHEDULER_REGISTRY
from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY

from fairseq_outlayers.extensions import installed_packages

OURS = "fairseq_outlayers"

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


def parts_of_ours(classes: Dict[str, Any]) -> Dict[str, Any]:
    """The entries of a registry that this package and packages that extend it have added."""
    packages = {OURS, *installed_packages()}
    return {
        name: part
        for name, part in classes.items()
        if part.__module__.partition(".")[0] in packages
    }


def option_owners(option: str) -> List[str]:
    """The parts of this package that take an option, each as ``--arch luong_lstm``.

    An architecture comes before its named sizes, which take the same options; criterions of fairseq
    that take it, too, come last.
    """
    owners: List[str] = []
    sizes: List[str] = []
    for _, selector, classes, dataclasses in KINDS:
        ours = parts_of_ours(classes)
        for name, part in ours.items():
            if _takes(part, dataclasses.get(name), option):
                is_size = any(base in ours.values() for base in part.__mro__[1:])
                (sizes if is_size else owners).append(f"{selector} {name}")
                twins = ARCH_MODEL_INV_REGISTRY.get(name, []) if selector == "--arch" else []
                sizes += [f"{selector} {twin}" for twin in twins if twin != name]
    if any(owner.startswith("--criterion") for owner in owners):
        sizes += [f"--criterion {name}" for name in _stock_criterions_with(option)]
    return owners + sizes


def _stock_criterions_with(option: str) -> List[str]:
    ours = parts_of_ours(CRITERION_REGISTRY)
    return [
        name
        for name, part in CRITERION_REGISTRY.items()
        if name not in ours and _takes(part, CRITERION_DATACLASS_REGISTRY.get(name), option)
    ]


def _takes(part: Any, dataclass: Any, option: str) -> bool:
    return any(option in action.option_strings for action in actions_of(part, dataclass))


def actions_of(part: Any, dataclass: Any) -> List[argparse.Action]:
    """The options of a part: of its dataclass, or without one of its ``add_args``."""
    parser = argparse.ArgumentParser(add_help=False)
    if dataclass is not None:
        gen_parser_from_dataclass(parser, dataclass())
    elif hasattr(part, "add_args"):
        part.add_args(parser)
    return parser._actions
