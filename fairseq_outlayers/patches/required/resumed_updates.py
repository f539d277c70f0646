"""Continue the count of updates from a checkpoint without the optimizer's state.

``Trainer.load_checkpoint`` (fairseq/trainer.py) restores the number of updates and the
learning-rate schedule only together with the optimizer's state. A run with
``--no-save-optimizer-state`` that is stopped and started again therefore counts from 0:
``--max-update`` is reached too late, or never if it is restarted often enough, and the learning
rate warms up again. Schedules such as ``reduce_lr_on_plateau`` keep their learning rate only in
the optimizer.

The patch restores the number from the checkpoint's history, and the schedule unless it is reset
(``--reset-lr-scheduler``). A checkpoint without the optimizer's state stores the learning rate,
too. Moments start anew, and the log says so. Nothing is restored if the optimizer or the epochs
start anew (``--reset-optimizer``, ``--reset-dataloader``, ``--finetune-from-model``).
"""

import logging
from typing import Any, Callable

from fairseq.trainer import Trainer

from fairseq_outlayers.checkpoints.names import AVERAGE, EXPORT
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces

LEARNING_RATE = "learning_rate"  # in a checkpoint's extra_state
NOT_TRAINED = {AVERAGE: "an average of checkpoints", EXPORT: "an exported model"}

logger = logging.getLogger(__name__)


@replaces(Trainer, "save_checkpoint")
def _save_rate(stock: Callable[..., Any], self: Any, filename: str, extra_state: Any) -> Any:
    if self.cfg.checkpoint.no_save_optimizer_state:
        extra_state = {**extra_state, LEARNING_RATE: self.get_lr()}
    return stock(self, filename, extra_state)


@replaces(Trainer, "load_checkpoint")
def _restore_updates(
    stock: Callable[..., Any],
    self: Any,
    filename: str,
    reset_optimizer: bool = False,
    reset_lr_scheduler: bool = False,
    *args: Any,
    **kwargs: Any,
) -> Any:
    extra_state = stock(self, filename, reset_optimizer, reset_lr_scheduler, *args, **kwargs)
    options = self.cfg.checkpoint
    if extra_state is not None and not (
        options.reset_dataloader or options.finetune_from_model is not None
    ):
        untrained = [words for mark, words in NOT_TRAINED.items() if mark in extra_state]
        if untrained:
            raise UserError(
                f"--restore-file {filename}: {untrained[0]} has no training to continue; to train "
                "from its parameters, use --finetune-from-model instead"
            )
    starts_anew = reset_optimizer or options.reset_dataloader
    if extra_state is None or starts_anew or not self._optim_history:
        return extra_state
    last = self._optim_history[-1]
    if self.get_num_updates() != last["num_updates"]:  # fairseq has restored nothing
        if not reset_lr_scheduler:
            self.lr_scheduler.load_state_dict(last["lr_scheduler_state"])
            if isinstance(extra_state.get(LEARNING_RATE), float):
                self.optimizer.set_lr(extra_state[LEARNING_RATE])
        self.set_num_updates(last["num_updates"])
        logger.info(
            f"{filename} has no state of the optimizer: training continues after update "
            f"{last['num_updates']:,} with a new one"
        )
    return extra_state
