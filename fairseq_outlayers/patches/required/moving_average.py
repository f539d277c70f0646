"""Average every tensor once per update under ``--store-ema``, and at the same updates if resumed.

``EMA`` (fairseq/models/ema/ema.py) and ``Trainer.load_checkpoint`` (fairseq/trainer.py) have three
defects:

- It averages every name of the model's state. A table with two names, such as the embeddings under
  ``--share-all-embeddings``, is averaged twice: its decay is ``d^2`` instead of ``d``.
- ``--ema-update-freq N`` counts updates in an attribute that no checkpoint has. A resumed run
  averages at other updates than an uninterrupted one.
- A training that begins to average at a checkpoint without an average ends in
  ``KeyError: 'model'``: the weights that the average should start at are deleted by then.

The patch leaves out further names of a tensor, and averages when the number of updates is a
multiple of ``N``. The average that a checkpoint lacks starts at its weights.
"""

import logging
from types import SimpleNamespace
from typing import Any, Callable, Dict, Optional, Set

from fairseq import checkpoint_utils
from fairseq.models.ema.ema import EMA
from fairseq.trainer import Trainer
from torch import Tensor

from fairseq_outlayers.patches.replacing import replaces

logger = logging.getLogger(__name__)


class _Loading:
    average = False  # whether a trainer that averages is loading a checkpoint


@replaces(Trainer, "load_checkpoint")
def _track_loading(stock: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    _Loading.average = self.cfg.ema.store_ema
    try:
        return stock(self, *args, **kwargs)
    finally:
        _Loading.average = False


# After ``finetuning``, which adapts a checkpoint to the model.
@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _start_average(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    state = stock(path, *args, **kwargs)
    extra = state.get("extra_state")
    if _Loading.average and extra is not None and "ema" not in extra:
        extra["ema"] = dict(state["model"])
        logger.warning(f"{path} has no moving average (--store-ema): it starts at the weights")
    return state


@replaces(EMA, "step")
def _set_update_counter(
    stock: Callable[..., Any], self: Any, new_model: Any, updates: Optional[int] = None
) -> None:
    if updates is not None:
        # fairseq adds 1, and averages if the sum has reached the frequency.
        self.update_freq_counter = (updates - 1) % self.config.ema_update_freq
    stock(self, new_model, updates)


@replaces(EMA, "_step_internal")
def _skip_shared_names(
    stock: Callable[..., Any], self: Any, new_model: Any, updates: Optional[int] = None
) -> None:
    averages = self.fp32_params if self.config.ema_fp32 else self.model.state_dict()
    repeated = _repeated_names(averages)
    state = {n: value for n, value in new_model.state_dict().items() if n not in repeated}
    stock(self, SimpleNamespace(state_dict=lambda: state), updates)


def _repeated_names(state: Dict[str, Any]) -> Set[str]:
    """Names of tensors that have an earlier name; parts of one storage are different tensors."""
    seen, repeated = set(), set()
    for name, value in state.items():
        if isinstance(value, Tensor) and value.numel() > 0:
            place = (value.device, value.data_ptr(), value.shape, value.stride(), value.dtype)
            if place in seen:
                repeated.add(name)
            seen.add(place)
    return repeated
