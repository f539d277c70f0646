"""The negative log-likelihood over classes that are loaded block by block."""

from typing import Iterable, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.losses.precision import at_least_float32, in_autocast_type


class ClassBlock(NamedTuple):
    """Some consecutive classes."""

    first: int
    """Id of the first."""
    embeddings: Tensor
    """``(C, D)``."""
    bias: Optional[Tensor]
    """``(C,)`` or None."""


@torch.no_grad()
def streamed_nll(
    context: Tensor,
    targets: Tensor,
    blocks: Iterable[ClassBlock],
    smoothing: float = 0.0,
    ignore_index: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    """Softmax over all classes with one block of classes at a time in device memory.

    Not differentiable. Equals :func:`full_nll` and :func:`smoothing_term`.

    Args:
        context: projected decoder states, ``(N, D)``.
        targets: class ids, ``(N,)``.
        blocks: all classes, each in one block.
        smoothing: probability given to the wrong classes, in [0, 1).
        ignore_index: a class excluded from smoothing (padding), or None.
    Returns:
        The smoothed loss and the negative log-likelihood in nats, ``(N,)`` each.
    """
    states = at_least_float32(context)
    log_sum = states.new_full((len(states),), -torch.inf)
    sum_of_scores = torch.zeros_like(log_sum)
    of_target, of_ignored = torch.zeros_like(log_sum), torch.zeros_like(log_sum)
    num_classes = 0
    for first, embeddings, bias in blocks:
        scores = at_least_float32(F.linear(*in_autocast_type(context, embeddings, bias)))
        size = scores.size(1)
        log_sum = torch.logaddexp(log_sum, scores.logsumexp(1))
        sum_of_scores += scores.sum(1)
        column = targets - first
        inside = (column >= 0) & (column < size)
        own = scores.gather(1, column.clamp(0, size - 1).unsqueeze(1)).squeeze(1)
        of_target = torch.where(inside, own, of_target)
        if ignore_index is not None and first <= ignore_index < first + size:
            of_ignored = scores[:, ignore_index - first]
        num_classes += size
    nll = log_sum - of_target
    share = smoothing / (num_classes - 1 - (ignore_index is not None))
    smoothed = (smoothing + share) * of_target - share * (sum_of_scores - of_ignored)
    return nll + smoothed, nll
