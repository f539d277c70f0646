"""End a training at once that has had all of its updates or hours, or has run out of patience.

fairseq looks at ``--max-update`` and ``--stop-time-hours`` after an update (``train.train`` in
fairseq_cli/train.py), not before the first, and at ``--patience`` after an epoch. So a command that
is run again when it has finished trains one more update or epoch each time, and its model differs
from that of one uninterrupted run.

The hours include those of the model that a fine-tuning begins with; here ``--reset-meters``, which
fine-tuning implies, begins them anew.

The patch sets a number of epochs at which the training loop is not entered. A checkpoint that has
all updates or epochs is reported, because ``--save-dir`` may name another training by mistake. One
of another folder (``--restore-file``) is refused: nothing would be trained or saved.
"""

import logging
import os
from typing import Any, Callable, Tuple

from fairseq import checkpoint_utils
from fairseq.trainer import Trainer

from fairseq_outlayers.checkpoints.names import LAST, last_of
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces
from fairseq_outlayers.patches.required.resumed_patience import validations_without_progress

logger = logging.getLogger(__name__)


@replaces(Trainer, "load_checkpoint")
def _begin_hours_anew(
    stock: Callable[..., Any], self: Any, *args: Any, reset_meters: bool = False, **kwargs: Any
) -> Any:
    extra_state = stock(self, *args, reset_meters=reset_meters, **kwargs)
    if reset_meters:  # as fine-tuning does
        self._previous_training_time = 0
    return extra_state


@replaces(checkpoint_utils, "load_checkpoint")
def _stop_if_finished(
    stock: Callable[..., Any], cfg: Any, trainer: Any, **passthrough_args: Any
) -> Tuple[Any, Any]:
    extra_state, epoch_itr = stock(cfg, trainer, **passthrough_args)
    limits, updates = trainer.cfg.optimization, trainer.get_num_updates()
    if extra_state is None:
        return extra_state, epoch_itr
    epochs = epoch_itr.next_epoch_idx - 1
    has_all_updates = 0 < limits.max_update <= updates
    out_of_patience = 0 < cfg.patience <= validations_without_progress()
    most = limits.stop_time_hours
    # Before the first update the trainer's own sum has the time of this process alone.
    out_of_time = 0 < most < trainer._previous_training_time / 3600
    if out_of_patience:
        advice = f"raise --patience (no lower validation loss for {cfg.patience} validations)"
    elif out_of_time:
        advice = f"raise --stop-time-hours (more than {most:g} hours were spent in training)"
    else:
        advice = "raise --max-update or --max-epoch"
    is_finished = has_all_updates or out_of_patience or out_of_time
    if is_finished or 0 < limits.max_epoch <= epochs:
        last = last_of(cfg.save_dir, trainer.checkpoint_suffix)
        if cfg.restore_file != LAST and not os.path.exists(last):
            raise UserError(
                f"--restore-file {cfg.restore_file}: nothing to train: it has {updates:,} updates "
                f"({epochs} epochs): {advice}; to begin anew with its weights, use "
                "--finetune-from-model instead"
            )
        logger.warning(
            f"nothing to train: {cfg.save_dir} has a training of {updates:,} updates "
            f"({epochs} epochs): {advice}, or name another --save-dir"
        )
    if is_finished:
        limits.max_epoch = -1  # 0 would mean no limit
    return extra_state, epoch_itr
