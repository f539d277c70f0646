"""A linear map applied step by step, with one weight gradient for all steps."""

from typing import Any, List, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairseq_outlayers.layers.autocast import compute_dtype

Records = List[Tuple[Tensor, Tensor]]  # inputs and output gradients of each step


class StepwiseLinear:
    """``x W^T`` at many time steps of one batch; its weight gradient is one matrix product.

    Autograd would compute a weight gradient at every step and sum them: ``T`` thin products and
    ``T`` passes over a matrix of the size of ``W``. Here steps only record their inputs and output
    gradients; at the end of the backward pass the records are concatenated and multiplied once.
    Values and gradients equal those of ``torch.nn.functional.linear``.

    Make a new one for each forward pass.

    Args:
        weight: ``(out, in)``; or ``(K, out, in)`` for ``K`` maps in one product, with one row each
            (a matrix per sentence) or ``B`` rows each (parallel layers).
    """

    def __init__(self, weight: Tensor):
        self._records: Records = []
        weight = weight.to(compute_dtype(weight))
        self._weight = weight.detach()
        # An input of every step, so its backward runs after all of theirs.
        self._weight_node = _Gather.apply(weight, self._records)

    def __call__(self, inputs: Tensor) -> Tensor:
        """``(B, in) -> (B, out)``; for ``K`` maps ``(K, in)`` or ``(K, B, in)`` likewise."""
        inputs = inputs.to(self._weight.dtype)
        return _Step.apply(inputs, self._weight, self._weight_node, self._records)


def _times(vectors: Tensor, matrix: Tensor) -> Tensor:
    """``vectors @ matrix``: ``(B, i) (i, o)``, ``(K, i) (K, i, o)`` or ``(K, B, i) (K, i, o)``."""
    if matrix.dim() == vectors.dim():
        return vectors @ matrix
    # As a row: batched products with columns are several times slower on a CPU.
    return torch.bmm(vectors.unsqueeze(1), matrix).squeeze(1)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, records: Records) -> Tensor:
        ctx.records, ctx.dim = records, weight.dim()
        ctx.set_materialize_grads(False)
        return weight.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: None) -> Tuple[Tensor, None]:
        join = torch.cat if ctx.records[0][0].dim() == ctx.dim else torch.stack
        inputs, gradients = (
            join(parts, dim=ctx.dim - 2) for parts in zip(*ctx.records, strict=True)
        )
        ctx.records.clear()
        return gradients.transpose(-2, -1) @ inputs, None


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, weight_node: Tensor, records: Records
    ) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.records, ctx.gather = records, weight_node.grad_fn
        return _times(inputs, weight.transpose(-2, -1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Tensor, None, None, None]:
        inputs, weight = ctx.saved_tensors
        # Not if the weight is frozen, or only gradients of inputs are needed.
        if ctx.gather is not None and torch._C._will_engine_execute_node(ctx.gather):
            ctx.records.append((inputs, gradient))
        return _times(gradient, weight), None, None, None
