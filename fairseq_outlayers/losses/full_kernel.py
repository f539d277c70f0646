"""Exact softmax loss and gradients, a chunk of positions at a time.

Sizes: ``N`` positions, ``V`` classes, ``D`` dimensions.
"""

from typing import Any, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairseq_outlayers.losses.gradient_products import (
    add_product,
    float16_factor,
    product,
    scaled_once,
    zeros_to_sum,
)
from fairseq_outlayers.losses.precision import at_least_float32
from fairseq_outlayers.losses.softmax_rows import softmax_


class SummedFullNLL(torch.autograd.Function):
    """The sum over positions; computes a chunk's gradients together with its scores.

    Products are computed in ``dtype``, everything else, including sums of gradients, in at least
    float32.
    """

    @staticmethod
    def forward(
        ctx: Any,
        chunk_size: int,
        dtype: torch.dtype,
        targets: Tensor,
        context: Tensor,
        class_embeddings: Tensor,
        class_bias: Optional[Tensor],
    ) -> Tensor:
        given = (context, class_embeddings, class_bias)
        sums = [
            zeros_to_sum(tensor) if tensor is not None and wanted else None
            for tensor, wanted in zip(given, ctx.needs_input_grad[3:], strict=True)
        ]
        with torch.autocast(context.device.type, enabled=False):
            low = [None if tensor is None else tensor.to(dtype) for tensor in given]
            total = _sum_by_chunks(chunk_size, targets, low, sums)
        ctx.gradients = sums
        ctx.types = [None if tensor is None else tensor.dtype for tensor in given]
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> Tuple[Optional[Tensor], ...]:
        return None, None, None, *scaled_once(ctx, scale)


def _sum_by_chunks(chunk_size: int, targets: Tensor, low: Any, sums: Any) -> Tensor:
    """The sum of the NLL; accumulates the required gradients.

    Args:
        targets: ``(N,)``.
        low: context ``(N, D)``, class embeddings ``(V, D)``, bias ``(V,)`` or None.
        sums: of their gradients, each None if not required.
    """
    context, embeddings, bias = low
    grad_context, grad_embeddings, grad_bias = sums
    total = at_least_float32(context.new_zeros(()))
    # The absolute gradients of a position's scores sum to at most two.
    for_context = None if grad_context is None else float16_factor(embeddings, 2)
    for_embeddings = (
        None if grad_embeddings is None else float16_factor(context, min(chunk_size, len(targets)))
    )
    any_wanted = any(gradient is not None for gradient in sums)
    for start in range(0, len(targets), chunk_size):
        part = slice(start, start + chunk_size)
        target = targets[part].unsqueeze(1)
        scores = F.linear(context[part], embeddings, bias)
        own = at_least_float32(scores.gather(1, target))
        normalizer, gradients = softmax_(scores, wants_probabilities=any_wanted)
        log_likelihood = own - normalizer.unsqueeze(1)
        total -= log_likelihood.sum()
        if gradients is None:
            continue
        gradients.scatter_(1, target, log_likelihood.expm1_().to(gradients.dtype))
        if grad_context is not None:
            grad_context[part] = product(gradients, embeddings, for_context)
        if grad_embeddings is not None:
            add_product(grad_embeddings, gradients, context[part], for_embeddings)
        if grad_bias is not None:
            grad_bias += gradients.sum(0, dtype=grad_bias.dtype)
    return total
