"""Under ``--amp``, let the optimizer multiply its own gradients.

``AMPOptimizer`` (fairseq/optim/amp_optimizer.py) hands clipping and averaging to the optimizer that
it wraps, but multiplies gradients itself, by ``FairseqOptimizer.multiply_grads``, which leaves
row-sparse ones as they are. So the gradients of tables would be sums over the batch instead of
means, and nothing would say so. The patch hands this on as well.
"""

from typing import Any, Callable

from fairseq.optim.amp_optimizer import AMPOptimizer

from fairseq_outlayers.patches.replacing import replace_once


def apply() -> None:
    """Replace the method of fairseq's wrapper."""
    replace_once(AMPOptimizer, "multiply_grads", _by_the_wrapped_optimizer)


def _by_the_wrapped_optimizer(stock: Callable[..., Any]) -> Callable[..., Any]:
    def multiply_grads(self: Any, c: Any) -> None:
        self.fp32_optimizer.multiply_grads(c)

    return multiply_grads
