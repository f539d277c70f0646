"""The negative log-likelihood over classes that are loaded block by block.

Sizes: ``N`` positions (padding removed), ``C`` classes in a block, ``D`` dimensions.
"""

from typing import Iterable, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.layers.autocast import accumulation_dtype
from fairseq_outlayers.losses.checks import (
    check_ignore_index,
    check_sizes,
    check_smoothing,
    check_targets,
)
from fairseq_outlayers.losses.precision import (
    at_least_float32,
    choose_chunk_size,
    to_compute_dtype,
)
from fairseq_outlayers.losses.smoothing import share_of_a_class


class ClassBlock(NamedTuple):
    """Some consecutive classes."""

    first: int
    """Id of the first."""
    embeddings: Tensor
    """``(C, D)``."""
    bias: Optional[Tensor]
    """``(C,)`` or None."""


class _Totals(NamedTuple):
    """Of the classes so far, ``(N,)`` each, changed in place."""

    log_sum: Tensor
    """The logarithm of the sum of exponentiated scores."""
    target_score: Tensor
    smoothed_sum: Tensor
    """The sum of the scores of all classes with a share of the smoothing, and of the target."""


@torch.no_grad()
def streamed_nll(
    context: Tensor,
    targets: Tensor,
    blocks: Iterable[ClassBlock],
    smoothing: float = 0.0,
    ignore_index: Optional[int] = None,
    chunk_size: int = 0,
) -> Tuple[Tensor, Tensor]:
    """Softmax over all classes with one block of classes at a time in device memory.

    Not differentiable. Equals :func:`full_nll` and :func:`smoothing_term`.

    Args:
        context: projected decoder states, ``(N, D)``.
        targets: class ids, ``(N,)``.
        blocks: all classes from 0 on, each in one block.
        smoothing: probability given to the wrong classes, in [0, 1).
        ignore_index: a class excluded from smoothing (padding), or None.
        chunk_size: positions per chunk of scores; 0: chosen by device.
    Returns:
        The smoothed loss and the negative log-likelihood in nats, ``(N,)`` each.
    Raises:
        ValueError: if sizes do not fit together, a class is in no block or in two, ``smoothing``
            is out of range, or ``ignore_index`` or (on a CPU) a target is no class.
        RuntimeError: if a target is no class, on an accelerator.
    """
    check_smoothing(smoothing)
    dtype = accumulation_dtype(context.dtype)
    zeros = torch.zeros(len(context), dtype=dtype, device=context.device)
    totals = _Totals(zeros - torch.inf, zeros - torch.inf, zeros)
    spans: List[range] = []
    for block in blocks:
        check_sizes(context, targets, block.embeddings, block.bias)
        if len(block.embeddings) == 0:
            continue
        size = choose_chunk_size(chunk_size, context.device, len(block.embeddings))
        states, embeddings, bias = to_compute_dtype(context, block.embeddings, block.bias)
        cast = block._replace(embeddings=embeddings, bias=bias)
        for start in range(0, len(context), size):
            part = slice(start, start + size)
            chunk = _Totals(*(total[part] for total in totals))
            _add(chunk, states[part], targets[part], cast, smoothing > 0, ignore_index)
        spans.append(range(block.first, block.first + len(embeddings)))
    num_classes = _number_of_classes(spans)
    check_ignore_index(ignore_index, num_classes)
    check_targets(targets, num_classes)
    if targets.device.type != "cpu":  # no kernel there sees a target outside all blocks
        torch._assert_async(((targets >= 0) & (targets < num_classes)).all())
    nll = totals.log_sum - totals.target_score
    share = share_of_a_class(smoothing, num_classes, ignore_index)
    if share == 0:
        return nll, nll.clone()
    return nll + (smoothing + share) * totals.target_score - share * totals.smoothed_sum, nll


def _number_of_classes(spans: List[range]) -> int:
    """The number of classes in blocks; refuses a class in two of them, or in none."""
    end = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start != end:
            raise ValueError(
                f"a block begins with class {span.start:,}, those before end before class "
                f"{end:,}: each class must be in one block"
            )
        end = span.stop
    return end


def _add(
    totals: _Totals,
    states: Tensor,
    targets: Tensor,
    block: ClassBlock,
    smoothed: bool,
    ignore_index: Optional[int],
) -> None:
    """Add a block's classes to the totals of a chunk of ``N`` positions."""
    first, embeddings, bias = block
    scores = at_least_float32(F.linear(states, embeddings, bias))
    size = len(embeddings)
    totals.log_sum.copy_(torch.logaddexp(totals.log_sum, scores.logsumexp(1)))
    column = targets - first
    inside = (column >= 0) & (column < size)
    own = scores.gather(1, column.clamp(0, size - 1).unsqueeze(1)).squeeze(1)
    totals.target_score.copy_(torch.where(inside, own, totals.target_score))
    if smoothed:
        totals.smoothed_sum.add_(scores.sum(1))
        if ignore_index is not None and first <= ignore_index < first + size:
            totals.smoothed_sum.sub_(scores[:, ignore_index - first])
