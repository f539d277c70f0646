"""A learning rate that shrinks after every epoch once the validation loss has risen."""

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from fairseq.dataclass import FairseqDataclass
from fairseq.optim.lr_scheduler import FairseqLRScheduler, register_lr_scheduler
from omegaconf import II

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.ranges import check_ranges, ranged


@dataclass
class ShrinkAfterRiseConfig(FairseqDataclass):
    lr_shrink: float = ranged(
        0.5,
        "factor of the learning rate after every epoch with a validation, once the loss has risen",
        at_least=0,
        at_most=1,
    )
    force_anneal: Optional[int] = ranged(
        None,
        "epoch from which on the learning rate shrinks, after every epoch with a validation, also "
        "if the loss has not risen (default: none)",
        at_least=2,
    )
    lr: List[float] = II("optimization.lr")  # noqa: RUF009 - an interpolation, never changed
    maximize_best_checkpoint_metric: bool = II("checkpoint.maximize_best_checkpoint_metric")
    disable_validation: bool = II("dataset.disable_validation")
    validate_interval: int = II("dataset.validate_interval")
    validate_interval_updates: int = II("dataset.validate_interval_updates")


@register_lr_scheduler("shrink_after_rise", dataclass=ShrinkAfterRiseConfig)
class ShrinkAfterRise(FairseqLRScheduler):
    """Constant until the validation loss first rises, then shrinks after every epoch with one.

    The rule of OpenNMT and of Pappas et al. (2018), who halve. fairseq's ``reduce_lr_on_plateau``
    shrinks only after epochs without improvement. In a short training the loss may never rise;
    with ``--force-anneal`` the rate shrinks then, too.
    """

    def __init__(self, cfg: Any, optimizer: Any):
        super().__init__(cfg, optimizer)
        if len(cfg.lr) > 1:
            raise UserError(
                f"--lr {','.join(map(str, cfg.lr))}: --lr-scheduler shrink_after_rise takes a "
                "single learning rate; give one, or use --lr-scheduler fixed"
            )
        if cfg.disable_validation:
            raise UserError(
                "--lr-scheduler shrink_after_rise shrinks by the validation loss, and "
                "--disable-validation leaves it none; use --lr-scheduler fixed"
            )
        if cfg.validate_interval > 1 and cfg.validate_interval_updates > 0:
            raise UserError(
                f"--validate-interval {cfg.validate_interval}: --lr-scheduler shrink_after_rise "
                "sees only validations at the end of an epoch, not those of "
                "--validate-interval-updates; use --validate-interval 1, or --lr-scheduler fixed"
            )
        check_ranges(cfg, ShrinkAfterRiseConfig)
        self.previous: Optional[float] = None
        self.has_risen = False
        self._begins = True  # at --lr, not where an earlier schedule ended
        self.optimizer.set_lr(cfg.lr[0])

    def state_dict(self) -> Dict[str, Any]:
        """The state without the learning rate, which is in the optimizer's state."""
        return {"previous": self.previous, "has_risen": self.has_risen}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self.previous = state_dict["previous"]
        self.has_risen = state_dict["has_risen"]
        self._begins = False

    def step_update(self, num_updates: int) -> float:
        """Begin at ``--lr``, also over a loaded optimizer (``--reset-lr-scheduler``)."""
        if self._begins:
            self.optimizer.set_lr(self.cfg.lr[0])
            self._begins = num_updates == 0
        return self.optimizer.get_lr()

    def step(self, epoch: int, val_loss: Optional[float] = None) -> float:
        """Update the learning rate by an epoch's validation loss, if there is one."""
        if val_loss is not None:
            self.has_risen |= self._is_worse(val_loss)
            if math.isfinite(val_loss):
                self.previous = val_loss
            if self.has_risen or epoch + 1 >= (self.cfg.force_anneal or math.inf):
                self.optimizer.set_lr(self.optimizer.get_lr() * self.cfg.lr_shrink)
        return self.optimizer.get_lr()

    def _is_worse(self, val_loss: float) -> bool:
        if self.previous is None:
            return False
        if self.cfg.maximize_best_checkpoint_metric:
            return val_loss < self.previous
        return val_loss > self.previous
