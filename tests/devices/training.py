"""Some updates of a model on a device, and what they cost the host."""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple

import torch
from fairseq.criterions import CRITERION_DATACLASS_REGISTRY, CRITERION_REGISTRY
from fairseq.logging import metrics
from fairseq.optim.adam import Adam

from fairseq_outlayers.compositions import COMPOSITIONS
from fairseq_outlayers.optim import row_gradients
from fairseq_outlayers.optim.row_adam import RowAdam
from fairseq_outlayers.optim.tables import make_row_sparse
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from fairseq_outlayers.samplers import SAMPLERS
from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDINGS
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TABLES,
    TRANSLATION_ARCHITECTURES,
    dictionary_with_units,
    make_batch,
    make_language_batch,
    make_model,
    make_task,
    needed_sampler_options,
    needed_source_options,
)
from tests.devices import to_device

TABLE = Path(__file__).with_name("host_waits.json")
WORDS = 40
LENGTHS = [(4, 5), (1, 3), (6, 2)]


class Case(NamedTuple):
    """What is trained."""

    arch: str = "luong_lstm"
    criterion: str = "full_softmax"
    model_options: Dict[str, Any] = {"output_layer": "linear"}  # noqa: RUF012 - never changed
    criterion_options: Dict[str, Any] = {}  # noqa: RUF012
    lazy: bool = False


class Outcome(NamedTuple):
    """What two updates gave."""

    losses: List[torch.Tensor]
    gradients: Dict[str, torch.Tensor]
    """Of the first, by name."""


SAMPLING = {"sampler": "log_uniform", "num_sampled": 10}
SMOOTHED = {"label_smoothing": 0.1}


def cases() -> Dict[str, Case]:
    """Every architecture by every criterion, and every part, by name."""
    task, found = make_task(WORDS, WORDS), {}
    for arch in (*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES):
        found[f"{arch} full_softmax"] = Case(arch, criterion_options=SMOOTHED)
        sampled = Case(arch, "sampled_softmax", criterion_options={**SAMPLING, **SMOOTHED})
        found[f"{arch} sampled_softmax"] = sampled
        found[f"{arch} lazy_adam"] = sampled._replace(lazy=True)
    for name in OUTPUT_LAYERS:
        options = {"output_layer": name}
        found[f"{name} full_softmax"] = Case(model_options=options)
        found[f"{name} sampled_softmax"] = Case(
            "luong_lstm", "sampled_softmax", options, {**SAMPLING, "sampler": "unigram"}
        )
    corrections = {"": {}, " uncorrected": {"no_logq_correction": True}}
    for name in SAMPLERS:
        needed = {**needed_sampler_options(name, task.target_dictionary), **SAMPLING}
        for label, options in corrections.items():
            found[f"{name}{label}"] = Case(
                "luong_lstm", "sampled_softmax", criterion_options={
                    **needed, "sampler": name, **options},
            )  # fmt: skip
    for name in SOURCE_EMBEDDINGS:
        needed = needed_source_options(name, task.source_dictionary)
        found[f"{name} source embedding"] = Case(
            model_options={"output_layer": "linear", "source_embedding": name, **needed}
        )
    needed = needed_source_options("mix_gate", task.source_dictionary)
    for option, value in {"center_external": True, "external_unknown": "mask"}.items():
        options = {"source_embedding": "mix_gate", **needed, option: value}
        found[f"mix_gate {option}"] = Case(model_options={"output_layer": "linear", **options})
    for name in COMPOSITIONS:
        composed = {"output_layer": "subword", "composition": name}
        found[f"{name} composition"] = Case("subword_lm", model_options=composed)
    dropout = {"output_layer": "linear", "dropout": 0.3}
    found["subword_lm masks per row"] = Case(
        "subword_lm", model_options={**dropout, "mask_per_row": True}
    )
    return found


def build(case: Case) -> Any:
    """Task, model, criterion and batch, on the CPU."""
    task = make_task(WORDS, WORDS)
    config = CRITERION_DATACLASS_REGISTRY[case.criterion]()
    config.sentence_avg, config.seed = False, 1
    for name, value in case.criterion_options.items():
        setattr(config, name, value)
    criterion = CRITERION_REGISTRY[case.criterion].build_criterion(config, task).train()
    make = make_batch
    lengths: Any = LENGTHS
    if "composition" in case.model_options:
        folder = Path(TABLES.name) / "units"
        folder.mkdir(exist_ok=True)
        task.target_dictionary = dictionary_with_units(folder)
    if case.arch in LANGUAGE_MODEL_ARCHITECTURES:
        task.source_dictionary, make, lengths = task.target_dictionary, make_language_batch, [4, 2]
    model = make_model(case.arch, task, **case.model_options).float().train()
    return model, criterion, make(task, lengths)


def train(case: Case, device: Any, updates: int = 2) -> Outcome:
    """Train on the CPU, with None, or on a device whose counts then are those of the last update.

    Args:
        case: what to train.
        device: of ``device_of_kind``.
    """
    model, criterion, batch = build(case)
    if device is not None:
        model, batch = model.to(device.device), to_device(batch, device.device)
    if case.lazy:
        make_row_sparse(model)
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = (RowAdam if case.lazy else Adam)(parameters, lr=1e-3)
    losses, gradients = [], {}
    torch.manual_seed(7)  # dropout draws on the CPU, on either device
    with metrics.aggregate("train"):
        for number in range(updates):
            if device is not None:
                device.forget()
            loss = update(model, criterion, batch, optimizer, number, case.lazy)
            losses.append(loss)
            if number == 0:
                named = [(n, p.grad) for n, p in model.named_parameters() if p.grad is not None]
                with counts_put_aside(device):
                    gradients = {n: _dense(g) for n, g in named}
    return Outcome(losses, gradients)


def update(
    model: Any, criterion: Any, batch: Any, optimizer: Any, number: int, lazy: bool
) -> torch.Tensor:
    """One update, as fairseq's trainer does it but for its logging."""
    model.set_num_updates(number)
    optimizer.zero_grad()
    loss, size, _ = criterion(model, batch)
    loss.backward()
    parameters = optimizer.param_groups[0]["params"]
    if lazy:
        row_gradients.multiply(parameters, 1 / size)
        row_gradients.clip_norm(parameters, 1.0)
    else:
        torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
    optimizer.step()
    return loss.detach()


class counts_put_aside:
    """What a block costs is not counted."""

    def __init__(self, device: Any):
        self.device = device

    def __enter__(self) -> None:
        if self.device is not None:
            self.kept = self.device.waits, self.device.uploads

    def __exit__(self, *_: Any) -> None:
        if self.device is not None:
            self.device.waits, self.device.uploads = self.kept


def _dense(gradient: torch.Tensor) -> torch.Tensor:
    gradient = gradient.detach().cpu()
    return (gradient.to_dense() if gradient.is_sparse else gradient).clone()
