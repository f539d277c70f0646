"""The negative log-likelihood of a softmax over all classes.

Sizes: ``N`` positions (padding removed), ``V`` classes, ``D`` dimensions.
"""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from fairseq_outlayers.layers.autocast import compute_dtype
from fairseq_outlayers.losses.checks import (
    NO_IGNORE_INDEX,
    check_reduction,
    check_sizes,
    check_targets,
)
from fairseq_outlayers.losses.full_kernel import SummedFullNLL
from fairseq_outlayers.losses.gradient_products import (
    apply_uncompiled,
    constant_without_grad,
    differentiable_once,
)
from fairseq_outlayers.losses.precision import (
    LOW_PRECISION,
    at_least_float32,
    choose_chunk_size,
    to_compute_dtype,
)
from fairseq_outlayers.losses.softmax_rows import bytes_of_score, is_fused

_has_linear_cross_entropy = hasattr(torch.nn, "LinearCrossEntropyOptions")  # PyTorch >= 2.13


def full_nll(
    context: Tensor,
    targets: Tensor,
    class_embeddings: Tensor,
    class_bias: Optional[Tensor] = None,
    reduction: str = "sum",
    chunk_size: int = 0,
) -> Tensor:
    """Exact negative log-likelihood of a softmax over all classes.

    Equivalent to ``F.cross_entropy(context @ class_embeddings.T + class_bias, targets,
    reduction="sum")``, but a target of -100 is an error, not ignored. In training, gradients are
    computed chunk by chunk in the forward pass, so a sum can be differentiated only once.

    Args:
        context: projected decoder states, ``(N, D)``.
        targets: class ids, ``(N,)``; remove positions to ignore beforehand.
        class_embeddings: ``(V, D)``.
        class_bias: ``(V,)`` or None.
        reduction: ``"sum"``, or ``"none"`` for one value per position.
        chunk_size: positions per chunk of logits; 0: chosen by device.
    Returns:
        NLL in nats, a scalar, or ``(N,)`` with ``reduction="none"``; at least float32.
    Raises:
        ValueError: if ``reduction`` is neither, sizes do not fit together, or (on a CPU) a target
            is no class.
    """
    check_reduction(reduction)
    check_sizes(context, targets, class_embeddings, class_bias)
    check_targets(targets, len(class_embeddings))
    if reduction == "sum":
        return _sum(context, targets, class_embeddings, class_bias, chunk_size)
    chunk_size = choose_chunk_size(chunk_size, context.device, len(class_embeddings))
    context, class_embeddings, class_bias = to_compute_dtype(context, class_embeddings, class_bias)
    chunks = zip(context.split(chunk_size), targets.split(chunk_size), strict=True)
    return torch.cat([_nll_of_chunk(c, t, class_embeddings, class_bias) for c, t in chunks])


def _sum(
    context: Tensor,
    targets: Tensor,
    class_embeddings: Tensor,
    class_bias: Optional[Tensor],
    chunk_size: int,
) -> Tensor:
    dtype, device, num_classes = compute_dtype(context), context.device, len(class_embeddings)
    size = bytes_of_score(device, dtype, num_classes)
    chunk_size = choose_chunk_size(chunk_size, device, num_classes, bytes_of_score=size)
    # PyTorch's kernel accumulates in the dtype of its inputs: float16 overflows at 65,504 nats.
    if (
        not _has_linear_cross_entropy
        or is_fused(device, dtype, num_classes)
        or dtype in LOW_PRECISION
        or len(targets) == 0
    ):
        terms = constant_without_grad(context, class_embeddings, class_bias)
        return differentiable_once(
            apply_uncompiled(SummedFullNLL, chunk_size, dtype, targets, *terms)
        )
    context, class_embeddings, class_bias = to_compute_dtype(context, class_embeddings, class_bias)
    total = F.linear_cross_entropy(
        context,
        class_embeddings,
        targets,
        linear_bias=class_bias,
        reduction="sum",
        ignore_index=NO_IGNORE_INDEX,
        options=torch.nn.LinearCrossEntropyOptions(
            batch_chunk_size=chunk_size,
            allow_retain_graph=torch.compiler.is_compiling(),  # else PyTorch warns, and breaks it
        ),
    )
    return differentiable_once(total)


def _nll_of_chunk(
    context: Tensor, targets: Tensor, class_embeddings: Tensor, class_bias: Optional[Tensor]
) -> Tensor:
    """NLL in nats, ``(C,)``; the logits are recomputed in the backward pass."""

    def nll(c: Tensor, e: Tensor, b: Optional[Tensor]) -> Tensor:
        logits = at_least_float32(F.linear(c, e, b))
        return F.cross_entropy(logits, targets, reduction="none", ignore_index=NO_IGNORE_INDEX)

    if not torch.is_grad_enabled():
        return nll(context, class_embeddings, class_bias)
    return checkpoint(nll, context, class_embeddings, class_bias, use_reentrant=False)
