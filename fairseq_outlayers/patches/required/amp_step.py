"""Divide gradients by the loss scale once under ``--amp``.

``AMPOptimizer`` (fairseq/optim/amp_optimizer.py) unscales the gradients of ``self.optimizer`` when
it clips them, and then passes ``self.fp32_optimizer`` to ``GradScaler.step``. The scaler tracks
unscaling by the optimizer's identity, so it divides the same gradients again: by 128 initially, and
by twice as much after every 2,000 updates without overflow. SGD and Adadelta hardly move; Adam is
scale-invariant, but its epsilon dominates small gradients.

The patch steps the optimizer that was unscaled.
"""

from typing import Any, Callable

from fairseq.optim.amp_optimizer import AMPOptimizer

from fairseq_outlayers.patches.replacing import replaces


@replaces(AMPOptimizer, "step")
def _step_unscaled_optimizer(stock: Callable[..., Any], self: Any) -> None:
    self.scaler.step(self.optimizer)
    self.scaler.update()
