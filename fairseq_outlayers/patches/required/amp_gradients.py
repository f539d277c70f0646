"""Delegate gradient scaling to the wrapped optimizer under ``--amp``.

``AMPOptimizer`` (fairseq/optim/amp_optimizer.py) delegates clipping and averaging to the wrapped
optimizer, but scales gradients by ``FairseqOptimizer.multiply_grads``, which skips row-sparse ones.
So gradients of tables would silently be sums over the batch instead of means.
"""

from typing import Any, Callable

from fairseq.optim.amp_optimizer import AMPOptimizer

from fairseq_outlayers.patches.replacing import replace_once


def apply() -> None:
    """Replace ``multiply_grads``."""
    replace_once(AMPOptimizer, "multiply_grads", _by_the_wrapped_optimizer)


def _by_the_wrapped_optimizer(stock: Callable[..., Any]) -> Callable[..., Any]:
    def multiply_grads(self: Any, c: Any) -> None:
        self.fp32_optimizer.multiply_grads(c)

    return multiply_grads
