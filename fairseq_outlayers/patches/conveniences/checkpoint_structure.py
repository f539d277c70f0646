"""Report files that are not fairseq checkpoints, although PyTorch can read them.

``load_checkpoint_to_cpu`` (fairseq/checkpoint_utils.py) and its callers assume a dictionary with
``model``, ``args`` or ``cfg``, and more; other objects end in various KeyErrors and TypeErrors.
What a model or an optimizer cannot use is reported by ``checkpoint_content.py``.
"""

import numbers
import os
from collections.abc import Mapping
from typing import Any, Callable, Iterator, Optional, Tuple

import torch
from fairseq import checkpoint_utils

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces

REMEDY = "give a checkpoint saved by fairseq-train"


@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _refuse_other_structure(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    if os.path.isdir(path):
        raise UserError(f"{path}: is a folder; {REMEDY}, perhaps a file in it")
    try:
        state = stock(path, *args, **kwargs)
    except (UserError, FileNotFoundError):
        raise
    except OSError as error:
        # PyTorch's reader of old checkpoints seeks beyond the end of the file.
        raise UserError(
            f"{path}: damaged, or not a checkpoint ({error.strerror}); {REMEDY}"
        ) from error
    except Exception as error:
        raise UserError(
            f"{path}: not a fairseq checkpoint, or damaged "
            f"({type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"
            f"); {REMEDY}"
        ) from error
    wrong = structure_error(state)
    if wrong is not None:
        raise UserError(f"{path}: not a fairseq checkpoint, {wrong}; {REMEDY}")
    return state


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
        return None  # fairseq has converted them
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
