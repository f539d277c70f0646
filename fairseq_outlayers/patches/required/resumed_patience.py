"""Count epochs without a lower validation loss across restarts.

fairseq counts the validations for ``--patience`` in attributes of a function
(``should_stop_early`` in fairseq_cli/train.py), which no checkpoint has. A run that is stopped
and started again trains up to ``--patience`` epochs more than an uninterrupted one, and one that
had ended trains one epoch more each time.

The patch stores the best loss and the count in the checkpoint, and restores them unless the epochs
start anew (``--reset-dataloader``, ``--finetune-from-model``) or fairseq's own record of the best
loss does (``--reset-meters``, ``--reset-optimizer``).
"""

import sys
from typing import Any, Callable, Iterator, Tuple

from fairseq import checkpoint_utils
from fairseq.trainer import Trainer

from fairseq_outlayers.patches.replacing import replaces

PATIENCE = "patience"  # in a checkpoint's extra_state
COUNTED = ("best", "num_runs")


def validations_without_progress() -> int:
    """Validations since the best one of this training."""
    return max((getattr(counter, "num_runs", 0) for counter in _counters()), default=0)


def _counters() -> Iterator[Any]:
    """The function that counts, in the modules that run as fairseq-train."""
    for name in ("fairseq_cli.train", "__main__"):
        counter = getattr(sys.modules.get(name), "should_stop_early", None)
        if counter is not None:
            yield counter


@replaces(Trainer, "save_checkpoint")
def _save_count(stock: Callable[..., Any], self: Any, filename: str, extra_state: Any) -> Any:
    for counter in _counters():
        if hasattr(counter, "num_runs"):
            counted = {name: getattr(counter, name) for name in COUNTED}
            extra_state = {**extra_state, PATIENCE: counted}
    return stock(self, filename, extra_state)


@replaces(checkpoint_utils, "load_checkpoint")
def _restore_count(
    stock: Callable[..., Any], cfg: Any, trainer: Any, **passthrough_args: Any
) -> Tuple[Any, Any]:
    extra_state, epoch_itr = stock(cfg, trainer, **passthrough_args)
    resumed = epoch_itr.epoch > 1 or epoch_itr.iterations_in_epoch > 0
    if resumed and not (cfg.reset_meters or cfg.reset_optimizer):
        for counter in _counters():
            for name, value in (extra_state or {}).get(PATIENCE, {}).items():
                setattr(counter, name, value)
    return extra_state, epoch_itr
