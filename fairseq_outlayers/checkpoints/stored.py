"""The contents of a checkpoint as fairseq stores them, without building its model."""

import numbers
from collections.abc import Mapping
from typing import Any, Dict, Iterable, Iterator, Optional, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.checkpoints.integrity import require_whole
from fairseq_outlayers.checkpoints.refusal import explain_refusal, warn_if_unchecked
from fairseq_outlayers.checkpoints.stored_numbers import numbers_as_stored
from fairseq_outlayers.errors import UserError, require_checkpoint

REMEDY = "give a checkpoint saved by fairseq-train"


def load_stored(path: str, with_options: bool = True) -> Dict[str, Any]:
    """Load a checkpoint on the CPU; no code in it can run, unless torch's switch lets it.

    Args:
        path: of the checkpoint.
        with_options: refuse one without the options of its training, or with a parameter that is
            not a tensor.
    Raises:
        UserError: if there is none, or it is damaged or not fairseq's.
    """
    require_checkpoint(path)
    require_whole(path)
    warn_if_unchecked(path)
    try:
        with numbers_as_stored():
            checkpoint = torch.load(path, map_location="cpu")
    except UserError:
        raise
    except Exception as error:  # torch.load can raise anything for other files
        raise UserError(explain_refusal(path, str(error))) from error
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get("model"), dict):
        raise UserError(f"{path}: not a fairseq checkpoint, it has no 'model'")
    wrong = structure_error(checkpoint) if with_options else None
    if wrong is not None:
        raise UserError(f"{path}: not a fairseq checkpoint, {wrong}; {REMEDY}")
    return checkpoint


@torch.no_grad()
def refuse_not_finite(path: str, parameters: Iterable[Tuple[str, Tensor]]) -> None:
    """Refuse parameters with NaN, or with infinite values if they are no biases.

    A class bias of minus infinity excludes a word.

    Args:
        path: of the checkpoint.
        parameters: with their names; buffers, such as masks, may be infinite.
    Raises:
        UserError: for the first such parameter.
    """
    for name, tensor in parameters:
        # A sum needs no memory, and is finite unless one value is not, or it overflows (in half
        # precision).
        if not tensor.is_floating_point() or tensor.sum().isfinite():
            continue
        if tensor.isnan().any():
            raise UserError(
                f"{path}: {name} has values that are not numbers (NaN), so its training has "
                "diverged: give an earlier checkpoint"
            )
        if "bias" not in name.rpartition(".")[2] and tensor.isinf().any():
            raise UserError(
                f"{path}: {name} has infinite values, so its training has diverged, or they are "
                "beyond the range of half precision: give another checkpoint"
            )


def structure_error(state: Any) -> Optional[str]:
    """Describe why an object is not a checkpoint; None if it is."""
    if not isinstance(state, dict):
        return f"it is a {type(state).__name__}"
    model = state.get("model")
    if not isinstance(model, dict) or not model:
        return "it has no 'model' with parameters"
    other = next((name for name, value in model.items() if not torch.is_tensor(value)), None)
    if other is not None:
        return f"{other} in its 'model' is a {type(model[other]).__name__}"
    if not state.get("args") and not state.get("cfg"):
        return "it has neither 'args' nor 'cfg', the options of the training"
    return _wrong_options(state) or _wrong_progress(state)


def _wrong_options(state: Any) -> Optional[str]:
    if state.get("args"):
        return None  # in one namespace, which fairseq converts
    for part in ("task", "model"):
        options = state["cfg"].get(part) if isinstance(state["cfg"], Mapping) else None
        # Options of parts without a dataclass are in a namespace.
        if not isinstance(options, Mapping) and not hasattr(options, "__dict__"):
            return f"its 'cfg' has no options of the {part}"
    return None


def _wrong_progress(state: Any) -> Optional[str]:
    """What resuming needs: counts, and a dictionary for the optimizer."""
    optimizer = state.get("last_optimizer_state")
    if optimizer is not None and not isinstance(optimizer, dict):
        return f"its 'last_optimizer_state' is a {type(optimizer).__name__}"
    for name, count in _counts(state):
        if not isinstance(count, numbers.Integral) or count < 0:
            return f"its {name!r} is {str(count)[:40]!r}, not a whole number of at least 0"
    return None


def _counts(state: Any) -> Iterator[Tuple[str, Any]]:
    extra, history = state.get("extra_state"), state.get("optimizer_history")
    if isinstance(history, list) and history and isinstance(history[-1], dict):
        yield "num_updates", history[-1].get("num_updates", 0)
    batches = extra.get("train_iterator") if isinstance(extra, dict) else None
    if isinstance(batches, dict):
        for name in ("epoch", "iterations_in_epoch"):
            yield name, batches.get(name, 0)
