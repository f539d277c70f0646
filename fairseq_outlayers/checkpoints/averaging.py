"""The mean of several checkpoints of one training, which often translates better than the last."""

import hashlib
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

import torch
from fairseq import checkpoint_utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from torch import Tensor

from fairseq_outlayers.checkpoints.names import AVERAGE
from fairseq_outlayers.checkpoints.partition_correction import is_corrected_model
from fairseq_outlayers.checkpoints.stored import load_stored, refuse_not_finite
from fairseq_outlayers.checkpoints.stored_options import (
    arch_of,
    changed_values,
    model_options,
    training_option,
)
from fairseq_outlayers.errors import UserError, as_flag, require_new_file
from fairseq_outlayers.registered_options import actions_of

# Options of models that training, the start, memory or limits depend on, but no score.
UNSCORED = re.compile(
    r"\w*drop(out)?\w*|mask_per_row|quant_noise_pq\w*|base_shuffle|\w+_freeze_embed"
    r"|(gamma|radius)_init|init_\w+|apply_bert_init|sampling_for_deletion"
    r"|\w+_embed_path|(check_)?external_embeddings|external_classes"
    r"|(checkpoint|offload)_activations|min_params_to_wrap|export|tpu"
    r"|max_(source|target)_positions|tokens_per_sample"
)


def average(paths: Sequence[str], output: Path) -> int:
    """Write a checkpoint with the mean of each parameter; all else is that of the last one.

    Sums are in float64. Training cannot continue from it: it has no state of the optimizer.

    Args:
        paths: checkpoints of one training, or of models fine-tuned from one, at least two.
        output: of the new checkpoint, which must not exist.
    Returns:
        The number of averaged parameters.
    Raises:
        UserError: if the checkpoints are not of one model or have other seeds of the training, two
            have equal parameters, one has NaN or infinite weights, some were trained by partitions
            without correction, or ``output`` cannot be written.
    """
    if len(set(paths)) < max(2, len(paths)):
        raise UserError("give two checkpoints or more, each once")
    require_new_file(output)
    corrected: Dict[bool, str] = {}
    means: Dict[str, Tensor] = {}
    earlier: Dict[str, str] = {}
    options: Mapping[str, Any] = {}
    origin: Tuple[Any, Any] = (None, None)
    for path in paths:
        state = load_stored(path)
        refuse_not_finite(path, _parameters(state["model"]))
        same = earlier.setdefault(_digest(state["model"]), path)
        if same != path:
            raise UserError(
                f"{same} and {path} have equal parameters: fairseq writes one checkpoint under "
                "several names; give each once"
            )
        corrected.setdefault(is_corrected_model(state), path)
        if len(corrected) > 1:
            raise UserError(
                f"{corrected[True]} has scores corrected for partitions, {corrected[False]} has "
                "not: correct it first (python -m fairseq_outlayers partition-correction)"
            )
        if not means:
            means = {name: _to_sum(tensor) for name, tensor in state["model"].items()}
            options, origin = model_options(state), _origin(state)
        else:
            _add(means, state["model"], path, paths[0])
            _require_same_options(options, state, path, paths[0])
            _require_same_origin(origin, state, path, paths[0])
    for name, tensor in state["model"].items():
        if tensor.is_floating_point():
            state["model"][name] = (means[name] / len(paths)).to(tensor.dtype)
    state["last_optimizer_state"] = None
    state["extra_state"] = {AVERAGE: len(paths)}
    checkpoint_utils.torch_persistent_save(state, str(output))
    return sum(tensor.numel() for tensor in means.values() if tensor.is_floating_point())


def _require_same_options(
    options: Mapping[str, Any], state: Dict[str, Any], path: str, first: str
) -> None:
    """Compare the options that scores depend on with those of the first model.

    Raises:
        UserError: for the first one that differs.
    """
    changed = changed_values(options, model_options(state), _scored_options(arch_of(state)))
    for name, (before, value) in changed.items():
        raise UserError(
            f"{path} has {as_flag(name)} {value}, {first} {before}: average checkpoints of one "
            "model"
        )


def _origin(state: Dict[str, Any]) -> Tuple[Any, Any]:
    """The seed of a checkpoint's training, and the model that it was fine-tuned from."""
    start = training_option(state, "checkpoint", "finetune_from_model")
    return training_option(state, "common", "seed"), start


def _require_same_origin(
    origin: Tuple[Any, Any], state: Dict[str, Any], path: str, first: str
) -> None:
    """Refuse models of two seeds, whose mean is no model, unless they began as one model.

    Raises:
        UserError: if both seeds are known and differ.
    """
    (before, start), (seed, other) = origin, _origin(state)
    if None in (before, seed) or before == seed or (start and start == other):
        return
    raise UserError(
        f"{path} has --seed {seed}, {first} {before}: average checkpoints of one training, or of "
        "models with one --finetune-from-model"
    )


def _scored_options(arch: str) -> List[str]:
    """Options of an architecture that scores depend on; none if its package is not imported."""
    name = ARCH_MODEL_NAME_REGISTRY.get(arch, arch)
    if name not in MODEL_REGISTRY:
        return []
    actions = actions_of(MODEL_REGISTRY[name], MODEL_DATACLASS_REGISTRY.get(name))
    return [each.dest for each in actions if not UNSCORED.fullmatch(each.dest)]


def _parameters(model: Dict[str, Tensor]) -> Iterator[Tuple[str, Tensor]]:
    """All entries with values of training; fairseq's ``_float_tensor`` is uninitialized memory."""
    return ((name, each) for name, each in model.items() if not name.endswith("._float_tensor"))


def _digest(model: Dict[str, Tensor]) -> str:
    """A digest of all parameters."""
    found = hashlib.sha256()
    for name, tensor in sorted(model.items()):
        found.update(name.encode())
        found.update(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
    return found.hexdigest()


def _to_sum(tensor: Tensor) -> Tensor:
    return tensor.to(torch.float64, copy=True) if tensor.is_floating_point() else tensor


def _add(means: Dict[str, Tensor], model: Dict[str, Tensor], path: str, first: str) -> None:
    """Add the parameters of a model to the sums.

    Raises:
        UserError: for the first one that another model has, has not, or has in another size.
    """
    if unlike := sorted(means.keys() ^ model.keys()):
        has, lacks = (path, first) if unlike[0] in model else (first, path)
        raise UserError(f"{has} has {unlike[0]}, {lacks} has not: average checkpoints of one model")
    for name, tensor in model.items():
        before = means[name]
        if before.shape != tensor.shape:
            raise UserError(
                f"{name} is {tuple(tensor.shape)} in {path}, {tuple(before.shape)} in {first}: "
                "average checkpoints of one model"
            )
        if tensor.is_floating_point():
            before += tensor
        elif not torch.equal(before, tensor):
            raise UserError(
                f"{name} differs in {path} and {first}: they have other words, or were regenerated "
                "from other seeds"
            )
