"""Save before a signal ends training.

SIGTERM, SIGINT and SIGHUP, by which clusters preempt jobs, end ``fairseq-train`` immediately, and
progress since the last save is lost. The patch records the signal, saves ``checkpoint_last.pt``
after the current update (all processes agree on the update through the statistics that they reduce
anyway), prints one line, and exits with 128 plus the signal's number. A second signal ends the
process at once.

If fairseq validates or saves after this update, it does that first, so that the resumed run equals
an uninterrupted one. A signal during validation saves at once, too, in case the process is killed
before validation ends (a run of one process only; the resumed run then lacks that validation).
Signals that are ignored when training starts (``nohup``) stay ignored. For
several GPUs without torchrun, signal the processes, not the command that spawned them.
"""

import copy
import sys
from typing import Any, Callable, NoReturn

import torch
from fairseq import checkpoint_utils
from fairseq.trainer import Trainer

from fairseq_outlayers.checkpoints import signals
from fairseq_outlayers.patches.replacing import replaces

VOTES = "_outlayers_stop_votes"
ITERATOR = "_outlayers_epoch_iterator"
LEAVING = "_outlayers_leaves_after_save"
SECURED = "_outlayers_saved_in_validation_after_update"
INTERVAL = "_outlayers_save_interval"


@replaces(checkpoint_utils, "save_checkpoint")
def _leaving_if_asked(
    stock: Callable[..., Any], cfg: Any, trainer: Any, epoch_itr: Any, val_loss: Any
) -> Any:
    if not getattr(trainer, LEAVING, False):
        return stock(cfg, trainer, epoch_itr, val_loss)
    cfg.save_interval = getattr(trainer, INTERVAL, cfg.save_interval)
    cfg = _with_last(cfg)
    stock(cfg, trainer, epoch_itr, val_loss)
    _leave(cfg, trainer)


@replaces(Trainer, "get_train_iterator")
def _listening(stock: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    signals.listen(several_processes=self.data_parallel_world_size > 1)
    iterator = stock(self, *args, **kwargs)
    setattr(self, ITERATOR, iterator)
    return iterator


@replaces(Trainer, "_aggregate_logging_outputs")
def _with_votes(
    stock: Callable[..., Any], self: Any, outputs: Any, *sums: Any, ignore: bool = False
) -> Any:
    vote = signals.received() or 0  # the sum over processes tells whether any received one
    outputs, sums = stock(self, outputs, *sums, float(vote), ignore=ignore)
    setattr(self, VOTES, sums[-1])
    return outputs, tuple(sums[:-1])


@replaces(Trainer, "train_step")
def _then_stopping(stock: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    earlier = getattr(self, VOTES, 0)
    result = stock(self, *args, **kwargs)
    if self.data_parallel_world_size == 1:
        asked = signals.received() is not None
    else:
        # On a GPU, read the previous update's votes, which were reduced before this one began.
        asked = float(earlier if self.cuda else getattr(self, VOTES, 0)) > 0
    if asked:
        options = self.cfg.checkpoint
        if not getattr(self, LEAVING, False):
            setattr(self, LEAVING, True)
            setattr(self, INTERVAL, options.save_interval)
            options.save_interval = 1  # fairseq saves at the end of this epoch in any case
        if not _fairseq_acts_now(self):
            checkpoint_utils.save_checkpoint(options, self, getattr(self, ITERATOR), None)
    return result


@replaces(Trainer, "valid_step")
def _saving_first(stock: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    iterator, updates = getattr(self, ITERATOR, None), self.get_num_updates()
    # Other processes may not have received the signal, and sharded states need all of them.
    alone = self.data_parallel_world_size == 1 and iterator is not None
    if alone and signals.received() is not None and getattr(self, SECURED, None) != updates:
        setattr(self, SECURED, updates)
        options, leaves = self.cfg.checkpoint, getattr(self, LEAVING, False)
        interval = options.save_interval
        # Without leaving before the validation has ended, and with the interval that was given.
        setattr(self, LEAVING, False)
        options.save_interval = getattr(self, INTERVAL, interval)
        checkpoint_utils.save_checkpoint(_with_last(options), self, iterator, None)
        options.save_interval = interval
        setattr(self, LEAVING, leaves)
    return stock(self, *args, **kwargs)


def _fairseq_acts_now(trainer: Any) -> bool:
    """Whether fairseq itself saves or ends the epoch after this update."""
    cfg, updates = trainer.cfg, trainer.get_num_updates()
    every = cfg.checkpoint.save_interval_updates
    hours = cfg.optimization.stop_time_hours
    return (
        getattr(trainer, ITERATOR).end_of_epoch()
        or (every > 0 and updates % every == 0 and updates >= cfg.dataset.validate_after_updates)
        or updates >= (cfg.optimization.max_update or float("inf"))
        or (hours > 0 and trainer.cumulative_training_time() / 3600 > hours)
    )


def _with_last(cfg: Any) -> Any:
    """Options that save ``checkpoint_last.pt``, which is needed to resume."""
    if cfg.no_last_checkpoints:
        cfg = copy.deepcopy(cfg)
        cfg.no_last_checkpoints = False
    return cfg


def _leave(cfg: Any, trainer: Any) -> NoReturn:
    number = signals.received() or signals.DEFAULT
    if trainer.data_parallel_world_size > 1:
        # Otherwise the first process to exit would abort the one that saves.
        torch.distributed.barrier()
    if trainer.is_data_parallel_master:
        done = (
            "nothing was saved (--no-save)"
            if cfg.no_save
            else f"saved in {cfg.save_dir}; run the same command again to resume"
        )
        print(
            f"stopped by {signals.name(number)} after update {trainer.get_num_updates()}: {done}",
            file=sys.stderr,
            flush=True,
        )
    sys.exit(128 + number)
