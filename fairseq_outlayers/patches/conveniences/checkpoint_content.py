"""Report checkpoints that have the structure of one, but that no model or optimizer can use.

``load_model_ensemble_and_task`` (fairseq/checkpoint_utils.py) builds a model from the options in a
checkpoint; of an unknown architecture or an option of another type, it ends in a traceback of
omegaconf. If a weight is NaN, the beam search ends in ``AssertionError: 20 < 20``; if one is
infinite, perplexities are NaN. A sum over each weight after it is loaded finds that; decoding
costs nothing more. An optimizer's state of other shapes ends in a traceback in the first update
(``FairseqOptimizer.load_state_dict``, fairseq/optim/fairseq_optimizer.py, compares none).
"""

import inspect
from typing import Any, Callable, Optional

import torch
from fairseq import checkpoint_utils
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from fairseq.optim import FairseqOptimizer
from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY
from omegaconf.errors import OmegaConfBaseException

from fairseq_outlayers.checkpoints.names import option_of
from fairseq_outlayers.checkpoints.stored import refuse_not_finite
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces

KNOWN = {
    "task": (TASK_REGISTRY, TASK_DATACLASS_REGISTRY),
    "model": (ARCH_MODEL_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY),
}
# States of the shape of their parameter.
SHAPED = ("exp_avg", "exp_avg_sq", "exp_inf", "momentum_buffer", "square_avg", "acc_delta", "sum")
RESET = "pass --reset-optimizer, or use the options of the training"


class _Built:
    parts: tuple = ()  # of a model that is being built from a checkpoint


@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _require_known_parts(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    state = stock(path, *args, **kwargs)
    for part in _Built.parts:
        _require_known(path, state, part)
    return state


def _require_known(path: str, state: Any, part: str) -> None:
    options = (state.get("cfg") or {}).get(part)
    name = option_of(options, "_name") or option_of(options, "arch")
    if isinstance(name, str) and not any(name in registry for registry in KNOWN[part]):
        raise UserError(
            f"{path}: its {part} is {name!r}, which fairseq does not have: give the --user-dir "
            "that defines it (in Python, import it; a package with the entry point "
            "fairseq_outlayers.models is always imported), or another checkpoint"
        )


@replaces(checkpoint_utils, "load_model_ensemble_and_task")
def _require_usable(stock: Callable[..., Any], filenames: Any, *args: Any, **kwargs: Any) -> Any:
    given = inspect.signature(stock).bind(filenames, *args, **kwargs).arguments
    _Built.parts = ("model",) if given.get("task") is not None else ("task", "model")
    try:
        if given.get("state") is not None:  # loaded before
            for part in _Built.parts:
                _require_known(filenames[0], given["state"], part)
        models, cfg, task = stock(filenames, *args, **kwargs)
    except OmegaConfBaseException as error:
        reason = str(error).splitlines()[0][:150]
        raise UserError(
            f"{', '.join(filenames)}: its options, with --model-overrides, are not those of "
            f"its model ({getattr(error, 'full_key', '')}: {reason}); give another checkpoint, or "
            "install the package that has this part"
        ) from error
    finally:
        _Built.parts = ()
    for path, model in zip(filenames, models, strict=True):
        refuse_not_finite(path, model.named_parameters())
    return models, cfg, task


@replaces(FairseqOptimizer, "load_state_dict")
def _refuse_other_state(
    stock: Callable[..., Any], self: Any, state_dict: Any, *args: Any, **kwargs: Any
) -> Any:
    try:
        return stock(self, state_dict, *args, **kwargs)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise UserError(
            f"the optimizer's state in the checkpoint is damaged, or of another optimizer "
            f"({str(error)[:150]}): {RESET}"
        ) from error


# Last, because other sizes of a model or of partitions have lines of their own.
@replaces(checkpoint_utils, "load_checkpoint")
def _refuse_other_shapes(
    stock: Callable[..., Any], cfg: Any, trainer: Any, **passthrough_args: Any
) -> Any:
    result = stock(cfg, trainer, **passthrough_args)
    optimizer = getattr(getattr(trainer, "optimizer", None), "optimizer", None)
    wrong = _other_shape(getattr(optimizer, "state", {}))
    if wrong is not None:
        raise UserError(f"the optimizer's state in the checkpoint {wrong}: {RESET}")
    return result


def _other_shape(states: Any) -> Optional[str]:
    for parameter, state in states.items():
        for name in SHAPED:
            value = state.get(name) if isinstance(state, dict) else None
            if torch.is_tensor(value) and value.shape != parameter.shape:
                return (
                    f"has {name} of {tuple(value.shape)} for a parameter of "
                    f"{tuple(parameter.shape)}"
                )
    return None
