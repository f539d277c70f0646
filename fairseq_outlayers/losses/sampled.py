"""The negative log-likelihood of a softmax over the target and sampled classes.

Sizes: ``N`` positions (padding removed), ``S`` sampled classes, ``R >= S`` scored classes (the
sampled ones, then targets that were not sampled), ``D`` dimensions.
"""

from typing import NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.layers.autocast import type_of_products
from fairseq_outlayers.losses.precision import (
    SAMPLED_POSITIONS_ON_CPU,
    at_least_float32,
    choose_chunk_size,
)
from fairseq_outlayers.losses.sampled_kernel import SummedNLL, Terms, nll_by_chunks


class ScoredClasses(NamedTuple):
    """The distinct classes that a sampled softmax scores."""

    ids: Tensor
    """``(R,)`` class ids: the sampled ones in their order, then the other targets."""
    target_rows: Tensor
    """``(N,)``, the index of each position's target in ``ids``."""


def scored_classes(
    sampled_ids: Tensor, targets: Tensor, includes_targets: bool = False
) -> ScoredClasses:
    """Merge sampled classes and targets into one list of distinct classes.

    Args:
        sampled_ids: ascending and distinct, ``(S,)``.
        targets: class ids, ``(N,)``.
        includes_targets: whether all targets are among the sampled classes.
    """
    num_sampled = len(sampled_ids)
    where = torch.searchsorted(sampled_ids, targets)
    if includes_targets:
        return ScoredClasses(sampled_ids, where)
    found = torch.zeros_like(targets, dtype=torch.bool)
    if num_sampled > 0:
        where = where.clamp(max=num_sampled - 1)
        found = sampled_ids[where] == targets
    # Found targets become one id larger than any other, so a single synchronization suffices.
    largest = torch.iinfo(targets.dtype).max
    missing = torch.cat([targets.masked_fill(found, largest), targets.new_full((1,), largest)])
    others, other_rows = missing.unique(return_inverse=True)
    rows = torch.where(found, where, num_sampled + other_rows[:-1])
    return ScoredClasses(torch.cat([sampled_ids, others[:-1]]), rows)


def sampled_nll(
    context: Tensor,
    target_rows: Tensor,
    class_embeddings: Tensor,
    class_bias: Optional[Tensor],
    log_expected_count: Tensor,
    smoothing: float = 0.0,
    reduction: str = "sum",
    chunk_size: int = 0,
) -> Tuple[Tensor, Tensor]:
    """Softmax over the target and the sampled classes (Jean et al. 2015, Sec. 3).

    For every position, ``logsumexp`` of the scores of the target and of all sampled classes except
    the target (masking accidental hits), minus the target's score. The logarithm of the expected
    count is subtracted from sampled scores. Equals the full softmax if every class is sampled with
    an expected count of one.

    Label smoothing spreads its mass over the classes scored at a position. Gradients are computed
    chunk by chunk in the forward pass, so a sum can be differentiated only once.

    Args:
        context: projected decoder states, ``(N, D)``.
        target_rows: index of each target among the ``R`` classes, ``(N,)``.
        class_embeddings: of the sampled classes and then the other targets, ``(R, D)``.
        class_bias: ``(R,)`` or None.
        log_expected_count: subtracted from the scores of the first ``S`` classes, ``(S,)``; zeros
            for no correction.
        smoothing: probability given to the wrong classes, in [0, 1).
        reduction: ``"sum"``, or ``"none"`` for one value per position.
        chunk_size: positions per chunk of scores; 0: chosen by device.
    Returns:
        The loss and the NLL (the loss without smoothing) in nats: scalars, or ``(N,)`` each with
        ``reduction="none"``; at least float32.
    """
    sampled_offset, target_offset = _offsets(context, target_rows, class_bias, log_expected_count)
    terms = Terms(target_rows, context, class_embeddings, sampled_offset, target_offset)
    dtype = type_of_products(context)
    chunk_size = choose_chunk_size(
        chunk_size, context.device, len(log_expected_count), SAMPLED_POSITIONS_ON_CPU
    )
    if reduction == "none":
        nll = nll_by_chunks(terms.in_type(dtype), chunk_size)
    else:
        nll = SummedNLL.apply(chunk_size, dtype, *terms)
    if smoothing == 0.0:
        return nll, nll
    term = _smoothing_term(terms, smoothing)
    return nll + (term if reduction == "none" else term.sum()), nll


def _offsets(
    context: Tensor,
    target_rows: Tensor,
    class_bias: Optional[Tensor],
    log_expected_count: Tensor,
) -> Tuple[Tensor, Tensor]:
    """Offsets of the dot products: ``(S,)`` for the sampled classes, ``(N,)`` for targets."""
    dtype = at_least_float32(context).dtype
    sampled = -log_expected_count.to(dtype)
    target = torch.zeros(len(target_rows), dtype=dtype, device=context.device)
    if class_bias is not None:
        sampled = sampled + class_bias[: len(sampled)]
        target = target + class_bias[target_rows]
    return sampled, target


def _smoothing_term(terms: Terms, smoothing: float) -> Tensor:
    """Label smoothing's term, ``(N,)``, linear in the scores (see :mod:`.smoothing`).

    ``smoothing`` times the target's score minus the mean score of the other scored classes.
    """
    states, num_sampled = at_least_float32(terms.context), len(terms.sampled_offset)
    sum_of_embeddings = terms.embeddings[:num_sampled].sum(0, dtype=states.dtype)
    # Not a matrix product, which autocast would compute in float16.
    sum_of_scores = (states * sum_of_embeddings).sum(-1) + terms.sampled_offset.sum()
    product = (states * terms.target_embeddings()).sum(-1)
    own, is_hit = torch.zeros_like(product), terms.target_rows < num_sampled
    if num_sampled > 0:  # a sampled target is not another class
        hit = terms.target_rows.clamp(max=num_sampled - 1)
        own = torch.where(is_hit, product + terms.sampled_offset[hit], 0.0)
    num_others = num_sampled - is_hit.to(states.dtype)
    mean_of_others = (sum_of_scores - own) / num_others.clamp(min=1)
    term = smoothing * (product + terms.target_offset - mean_of_others)
    return torch.where(num_others > 0, term, 0.0)  # nothing to smooth over
