"""Delegate gradient scaling to the wrapped optimizer under ``--amp``.

``AMPOptimizer`` (fairseq/optim/amp_optimizer.py) delegates clipping and averaging to the wrapped
optimizer, but scales gradients by ``FairseqOptimizer.multiply_grads``, which skips row-sparse ones.
So gradients of tables would silently be sums over the batch instead of means.
"""

from typing import Any, Callable

from fairseq.optim.amp_optimizer import AMPOptimizer

from fairseq_outlayers.patches.replacing import replaces


@replaces(AMPOptimizer, "multiply_grads")
def _delegate_scaling(stock: Callable[..., Any], self: Any, c: Any) -> None:
    self.fp32_optimizer.multiply_grads(c)
