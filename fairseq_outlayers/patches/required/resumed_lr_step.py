"""Apply the learning-rate step of the epoch after which a checkpoint was saved.

fairseq saves at the end of an epoch before it passes the validation loss to the learning-rate
schedule (``train.main`` in fairseq_cli/train.py). A run that resumes from that checkpoint
(``checkpoint_utils.load_checkpoint``) calls the schedule without a loss, so the step is lost: the
learning rate is not halved, for example, as it would be in an uninterrupted run.

The patch passes the loss in the checkpoint to the schedule, with the number of its epoch.
"""

from typing import Any, Callable, Tuple

from fairseq import checkpoint_utils

from fairseq_outlayers.patches.replacing import replaces


@replaces(checkpoint_utils, "load_checkpoint")
def _apply_lr_step(
    stock: Callable[..., Any], cfg: Any, trainer: Any, **passthrough_args: Any
) -> Tuple[Any, Any]:
    extra_state, epoch_itr = stock(cfg, trainer, **passthrough_args)
    loss = None if extra_state is None else extra_state.get("val_loss")
    resets = cfg.reset_lr_scheduler or cfg.reset_optimizer
    # A checkpoint within an epoch precedes the step in any case.
    ended = epoch_itr.epoch > 1 and epoch_itr.iterations_in_epoch == 0
    if loss is not None and ended and not resets:
        trainer.lr_step(epoch_itr.epoch - 1, loss)
    return extra_state, epoch_itr
