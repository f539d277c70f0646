"""Divide gradients by the loss scale once under ``--amp``.

``AMPOptimizer`` (fairseq/optim/amp_optimizer.py) unscales the gradients of ``self.optimizer`` when
it clips them, and then hands ``self.fp32_optimizer`` to ``GradScaler.step``. The scaler knows what
it has unscaled by the optimizer's identity, so it divides the same gradients again: by 128 at the
start, and by twice as much after every 2,000 updates without an overflow. SGD and Adadelta hardly
move; Adam, which does not mind the size, drowns small gradients in its epsilon.

The patch steps the optimizer that was unscaled.
"""

import functools
from typing import Any, Callable

from fairseq.optim.amp_optimizer import AMPOptimizer

from fairseq_outlayers.patches.replacing import replace_once


def apply() -> None:
    """Replace the step."""
    replace_once(AMPOptimizer, "step", _of_what_was_unscaled)


def _of_what_was_unscaled(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def step(self: Any) -> None:
        self.scaler.step(self.optimizer)
        self.scaler.update()

    return step
