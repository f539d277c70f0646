"""Label smoothing, which is linear in the logits."""

from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.layers.autocast import accumulation_dtype
from fairseq_outlayers.losses.checks import (
    check_ignore_index,
    check_sizes,
    check_smoothing,
    check_targets,
)
from fairseq_outlayers.losses.precision import at_least_float32


def smoothing_term(
    context: Tensor,
    targets: Tensor,
    class_embeddings: Tensor,
    class_bias: Optional[Tensor],
    smoothing: float,
    ignore_index: Optional[int] = None,
) -> Tensor:
    """The term that label smoothing adds to the negative log-likelihood.

    The target has probability ``1 - smoothing`` and the other classes share the rest uniformly, as
    in fairseq's ``label_smoothed_cross_entropy``. The cross-entropy against this distribution ``q``
    is ``logsumexp(z) - sum_k q_k z_k``. It differs from the NLL only in terms linear in the logits
    ``z``, and a sum of logits over classes is one dot product with the sum of the class embeddings.
    So smoothing costs ``O((N + V) D)``, not a second pass over ``(N, V)``.

    Args:
        context: projected decoder states, ``(N, D)``.
        targets: class ids, ``(N,)``.
        class_embeddings: ``(V, D)``.
        class_bias: ``(V,)`` or None.
        smoothing: probability given to the wrong classes, in [0, 1).
        ignore_index: a class excluded from smoothing (padding), or None.
    Returns:
        Nats, ``(N,)``; may be negative. Zero if no wrong class has a share.
    Raises:
        ValueError: if sizes do not fit together, ``smoothing`` is out of range, or
            ``ignore_index`` or (on a CPU) a target is no class.
    """
    check_smoothing(smoothing)
    check_sizes(context, targets, class_embeddings, class_bias)
    check_ignore_index(ignore_index, len(class_embeddings))
    check_targets(targets, len(class_embeddings))
    states = at_least_float32(context)
    total, of_targets = _SumAndRows.apply(class_embeddings, targets, ignore_index)
    target_logit = (states * of_targets).sum(-1)
    total_bias = states.new_zeros(())
    if class_bias is not None:
        total_bias = class_bias.sum(dtype=states.dtype)
        # Widened first, so that the gradients of a frequent class are summed in float32.
        target_logit = target_logit + class_bias.to(states.dtype)[targets]
    share = share_of_a_class(smoothing, len(class_embeddings), ignore_index)
    if share == 0:
        return target_logit * 0
    if ignore_index is not None and class_bias is not None:
        total_bias = total_bias - class_bias[ignore_index]
    # Not a matrix product, which autocast would compute in float16.
    sum_of_logits = (states * total).sum(-1) + total_bias
    return (smoothing + share) * target_logit - share * sum_of_logits


class _SumAndRows(torch.autograd.Function):
    """The sum of a table's rows and some of them, in at least float32.

    Their gradients are added into one of the table's size; autograd would make one for each.
    """

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, rows: Tensor, left_out: Optional[int]
    ) -> Tuple[Tensor, Tensor]:
        ctx.save_for_backward(rows)
        ctx.shape, ctx.dtype, ctx.left_out = table.shape, table.dtype, left_out
        dtype = accumulation_dtype(table.dtype)
        total = table.sum(0, dtype=dtype)
        if left_out is not None:
            total = total - table[left_out]
        return total, table[rows].to(dtype)

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor, grad_rows: Tensor) -> Tuple[Tensor, None, None]:
        (rows,) = ctx.saved_tensors
        gradient = grad_total.expand(ctx.shape).clone(memory_format=torch.contiguous_format)
        if ctx.left_out is not None:
            gradient[ctx.left_out] = 0
        return gradient.index_add_(0, rows, grad_rows).to(ctx.dtype), None, None


def share_of_a_class(smoothing: float, num_classes: int, ignore_index: Optional[int]) -> float:
    """The probability that smoothing gives to each wrong class; 0 if there is none.

    Args:
        smoothing: of all of them.
        num_classes: ``V``, with the target.
        ignore_index: a class without a share, or None.
    """
    others = num_classes - 1 - (ignore_index is not None)
    return smoothing / others if others > 0 else 0.0
