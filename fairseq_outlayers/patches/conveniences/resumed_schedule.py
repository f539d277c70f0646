"""Refuse to resume with another ``--lr-scheduler`` than that of the training.

``Trainer.load_checkpoint`` (fairseq/trainer.py) compares the criterion and the optimizer with those
of the checkpoint, but passes the state of one schedule to any other. That ends in a traceback
(``KeyError: 'best'``), or a number of the one becomes a number of the other.

The patch compares their names where the state is used, so after the model, the criterion and the
optimizer. A checkpoint whose options name no schedule is not compared.
"""

from typing import Any, Callable, Optional

from fairseq import checkpoint_utils
from fairseq.trainer import Trainer

from fairseq_outlayers.checkpoints.names import option_of
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces

SCHEDULE = "lr_scheduler"  # in a checkpoint's options, and meanwhile in its last history


class _Resuming:
    schedule = False  # whether a trainer is loading a checkpoint with its schedule


@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _record_schedule(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    """Record the schedule's name in the history, which fairseq broadcasts to all processes."""
    state = stock(path, *args, **kwargs)
    if _Resuming.schedule and state.get("optimizer_history"):
        state["optimizer_history"][-1][SCHEDULE] = _name(state.get("cfg"))
    return state


@replaces(Trainer, "load_checkpoint")
def _compare_schedule(
    stock: Callable[..., Any],
    self: Any,
    filename: str,
    reset_optimizer: bool = False,
    reset_lr_scheduler: bool = False,
    *args: Any,
    **kwargs: Any,
) -> Any:
    _Resuming.schedule = not (reset_optimizer or reset_lr_scheduler)
    try:
        extra_state = stock(self, filename, reset_optimizer, reset_lr_scheduler, *args, **kwargs)
    except (KeyError, TypeError, AttributeError) as error:
        _compare(self, filename, error)
        raise
    finally:
        _Resuming.schedule = False
    # Without updates, fairseq has only loaded the model.
    if self.get_num_updates() > 0:
        _compare(self, filename)
    for past in self._optim_history or []:
        past.pop(SCHEDULE, None)
    return extra_state


def _compare(trainer: Any, filename: str, cause: Optional[Exception] = None) -> None:
    """Raise a ``UserError`` if the checkpoint has another schedule than the trainer."""
    history = trainer._optim_history or [{}]
    stored, given = history[-1].get(SCHEDULE), _name(trainer.cfg)
    if stored is not None and given is not None and stored != given:
        raise UserError(
            f"{filename} was trained with another --lr-scheduler ({stored}; now {given}): use that "
            "of the training, or reset the schedule by --reset-lr-scheduler"
        ) from cause


def _name(options: Any) -> Optional[str]:
    """The schedule in the options of a checkpoint or a command."""
    schedule = option_of(options, SCHEDULE)
    name = option_of(schedule, "_name")
    return name if isinstance(name, str) else None
