"""Losses over class scores: tensors in, tensors out.

Nothing here knows of models, batches or fairseq. Logits are made in chunks of positions, so that
an ``(N, V)`` table of log-probabilities never exists.

Sizes: ``N`` positions (padding removed), ``V`` classes, ``D`` dimensions.
"""

from typing import Any, Optional

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

# 128 positions keep a chunk of logits in a CPU's cache; an accelerator wants more work at once.
CHUNK_SIZE_ON_CPU = 128
CHUNK_SIZE_ON_ACCELERATOR = 2048

_has_linear_cross_entropy = hasattr(torch.nn, "LinearCrossEntropyOptions")  # PyTorch >= 2.13
_LOW_PRECISION = (torch.float16, torch.bfloat16)


def full_nll(
    context: Tensor,
    targets: Tensor,
    class_embeddings: Tensor,
    class_bias: Optional[Tensor] = None,
    reduction: str = "sum",
    chunk_size: int = 0,
) -> Tensor:
    """Exact negative log-likelihood of a softmax over all classes.

    Equivalent to ``F.cross_entropy(context @ class_embeddings.T + class_bias, targets)``. In
    training the gradients are computed chunk by chunk within the forward pass, hence a sum can be
    differentiated once, and once only.

    Args:
        context: projected decoder states, ``(N, D)``.
        targets: class ids, ``(N,)``.
        class_embeddings: ``(V, D)``.
        class_bias: ``(V,)`` or None.
        reduction: ``"sum"``, or ``"none"`` for one value a position.
        chunk_size: positions whose logits exist at a time; 0 chooses by device.
    Returns:
        Nats; a scalar, or ``(N,)`` with ``reduction="none"``. In float32 at least.
    """
    if chunk_size <= 0:
        on_cpu = context.device.type == "cpu"
        chunk_size = CHUNK_SIZE_ON_CPU if on_cpu else CHUNK_SIZE_ON_ACCELERATOR
    context, class_embeddings, class_bias = _in_autocast_type(context, class_embeddings, class_bias)
    # PyTorch's kernel adds up in the type of its inputs: float16 overflows at 65,504 nats.
    low = context.dtype in _LOW_PRECISION
    if reduction == "sum" and _has_linear_cross_entropy and len(targets) > 0 and not low:
        return F.linear_cross_entropy(
            context,
            class_embeddings,
            targets,
            linear_bias=class_bias,
            reduction="sum",
            options=torch.nn.LinearCrossEntropyOptions(batch_chunk_size=chunk_size),
        )
    chunks = zip(context.split(chunk_size), targets.split(chunk_size), strict=True)
    parts = [_nll_of_chunk(c, t, class_embeddings, class_bias) for c, t in chunks]
    nll = torch.cat(parts) if parts else _at_least_float32(context.new_zeros(0))
    return nll.sum() if reduction == "sum" else nll


def _nll_of_chunk(
    context: Tensor, targets: Tensor, class_embeddings: Tensor, class_bias: Optional[Tensor]
) -> Tensor:
    """``(C,)`` nats; the logits are made again in the backward pass instead of being kept."""

    def nll(c: Tensor, e: Tensor, b: Optional[Tensor]) -> Tensor:
        return F.cross_entropy(_at_least_float32(F.linear(c, e, b)), targets, reduction="none")

    if not torch.is_grad_enabled():
        return nll(context, class_embeddings, class_bias)
    return checkpoint(nll, context, class_embeddings, class_bias, use_reentrant=False)


def _in_autocast_type(*tensors: Optional[Tensor]) -> Any:
    """What autocast does for a linear layer, which it does not do for this loss."""
    device = next(tensor.device.type for tensor in tensors if tensor is not None)
    if not torch.is_autocast_enabled(device):
        return tensors
    dtype = torch.get_autocast_dtype(device)
    return tuple(None if tensor is None else tensor.to(dtype) for tensor in tensors)


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in _LOW_PRECISION else tensor


def smoothing_term(
    context: Tensor,
    targets: Tensor,
    class_embeddings: Tensor,
    class_bias: Optional[Tensor],
    smoothing: float,
    left_out: Optional[int] = None,
) -> Tensor:
    """What label smoothing adds to the negative log-likelihood.

    The target keeps probability ``1 - smoothing`` and the other classes share the rest evenly, as
    in fairseq's ``label_smoothed_cross_entropy``. Against such a distribution ``q`` the
    cross-entropy is ``logsumexp(z) - sum_k q_k z_k``; it differs from the NLL only in terms
    linear in the logits ``z``, and a sum of logits over classes is one dot product with the sum of
    the class embeddings. So smoothing costs ``O((N + V) D)``, not a second pass over ``(N, V)``.

    Args:
        context: projected decoder states, ``(N, D)``.
        targets: class ids, ``(N,)``.
        class_embeddings: ``(V, D)``.
        class_bias: ``(V,)`` or None.
        smoothing: probability given to the wrong classes, in [0, 1).
        left_out: a class that gets none of it (padding), or None.
    Returns:
        Nats, ``(N,)``; may be negative.
    """
    states = _at_least_float32(context)
    total = class_embeddings.sum(0, dtype=states.dtype)
    target_logit = (states * F.embedding(targets, class_embeddings)).sum(-1)
    total_bias = states.new_zeros(())
    if class_bias is not None:
        total_bias = class_bias.sum(dtype=states.dtype)
        target_logit = target_logit + class_bias[targets]
    num_smoothed = class_embeddings.size(0)
    if left_out is not None:
        num_smoothed -= 1
        total = total - class_embeddings[left_out]
        if class_bias is not None:
            total_bias = total_bias - class_bias[left_out]
    share = smoothing / (num_smoothed - 1)
    # No matrix product: autocast would compute it, a sum over all classes, in float16.
    sum_of_logits = (states * total).sum(-1) + total_bias
    return (smoothing + share) * target_logit - share * sum_of_logits
