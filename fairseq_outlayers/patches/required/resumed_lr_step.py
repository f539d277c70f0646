"""Let a resumed run take the learning-rate step of the epoch it was saved after.

fairseq saves at the end of an epoch, and only then shows the validation loss to the learning-rate
schedule (``train.main`` in fairseq_cli/train.py). A run that resumes from that checkpoint
(``checkpoint_utils.load_checkpoint``) calls the schedule without a loss, so the step is lost: an
epoch that should have halved the learning rate leaves it as it was, and the run trains on as an
uninterrupted one would not.

The patch shows the schedule the loss, which the checkpoint holds, with the number of its epoch.
"""

import functools
from typing import Any, Callable, Tuple

from fairseq import checkpoint_utils

from fairseq_outlayers.patches.replacing import replace_once


def apply() -> None:
    """Replace ``load_checkpoint``, which ``fairseq-train`` looks up in its module."""
    replace_once(checkpoint_utils, "load_checkpoint", _with_step)


def _with_step(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def load_checkpoint(cfg: Any, trainer: Any, **passthrough_args: Any) -> Tuple[Any, Any]:
        extra_state, epoch_itr = stock(cfg, trainer, **passthrough_args)
        loss = None if extra_state is None else extra_state.get("val_loss")
        resets = cfg.reset_lr_scheduler or cfg.reset_optimizer
        # A checkpoint from the middle of an epoch stands before its step in every run.
        ended = epoch_itr.epoch > 1 and epoch_itr.iterations_in_epoch == 0
        if loss is not None and ended and not resets:
            trainer.lr_step(epoch_itr.epoch - 1, loss)
        return extra_state, epoch_itr

    return load_checkpoint
