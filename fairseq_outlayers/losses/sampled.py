"""The negative log-likelihood of a softmax over the target and sampled classes.

Sizes: ``N`` positions (padding removed), ``S`` sampled classes, ``R >= S`` scored classes (the
sampled ones, then targets that were not sampled), ``D`` dimensions.
"""

from typing import NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.layers.autocast import compute_dtype
from fairseq_outlayers.losses.checks import (
    check_ascending,
    check_flat,
    check_included,
    check_reduction,
    check_sizes,
    check_smoothing,
    check_targets,
)
from fairseq_outlayers.losses.gradient_products import (
    apply_uncompiled,
    constant_without_grad,
    differentiable_once,
)
from fairseq_outlayers.losses.precision import (
    BYTES_OF_SCORE,
    SAMPLED_POSITIONS_ON_CPU,
    at_least_float32,
    choose_chunk_size,
)
from fairseq_outlayers.losses.sampled_kernel import SummedNLL, Terms, nll_by_chunks
from fairseq_outlayers.losses.softmax_rows import bytes_of_score

# Below this weight, where the largest is 1, other classes are lost in rounding.
ROUNDING = 1e-6


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
    Raises:
        ValueError: if targets have several dimensions, or, on a CPU, if sampled ids are not
            ascending and distinct, a target is negative, or is not among them in spite of
            ``includes_targets``. An accelerator fails in a later operation instead.
    """
    check_flat(targets)
    check_ascending(sampled_ids)
    check_targets(targets, torch.iinfo(torch.int64).max)
    num_sampled = len(sampled_ids)
    where = torch.searchsorted(sampled_ids, targets)
    if includes_targets:
        check_included(sampled_ids, targets, where)
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

    Label smoothing spreads its mass uniformly over all wrong classes, whose mean score is estimated
    from the sampled ones by self-normalized importance sampling: weighted by one over the expected
    count, so that frequently sampled classes get no more than others. Without the correction it is
    spread over the sampled classes. Gradients are computed chunk by chunk in the forward pass, so a
    sum can be differentiated only once.

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
    Raises:
        ValueError: if ``reduction`` is neither, ``smoothing`` is out of range, sizes do not fit
            together, or (on a CPU) a target row is not below ``R``.
    """
    check_reduction(reduction)
    check_smoothing(smoothing)
    check_sizes(context, target_rows, class_embeddings, class_bias)
    check_targets(target_rows, len(class_embeddings))
    if log_expected_count.dim() != 1 or len(log_expected_count) > len(class_embeddings):
        raise ValueError(
            f"log_expected_count {tuple(log_expected_count.shape)}: must be (S,), for the sampled "
            f"classes, of {len(class_embeddings)} in all"
        )
    sampled_offset, target_offset = _offsets(context, target_rows, class_bias, log_expected_count)
    terms = Terms(target_rows, context, class_embeddings, sampled_offset, target_offset)
    dtype = compute_dtype(context)
    device = context.device
    num_sampled = len(log_expected_count)
    size = BYTES_OF_SCORE if reduction == "none" else bytes_of_score(device, dtype, num_sampled)
    chunk_size = choose_chunk_size(chunk_size, device, num_sampled, SAMPLED_POSITIONS_ON_CPU, size)
    if reduction == "none":
        nll = nll_by_chunks(terms.to_dtype(dtype), chunk_size)
    else:
        summed = apply_uncompiled(SummedNLL, chunk_size, dtype, *constant_without_grad(*terms))
        nll = differentiable_once(summed)
    if smoothing == 0.0:
        return nll, nll.clone()
    term = _smoothing_term(terms, log_expected_count, smoothing)
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
        # Widened first, so that the gradients of a frequent class are summed in float32.
        target = target + class_bias.to(dtype)[target_rows]
    return sampled, target


def _smoothing_term(terms: Terms, log_expected_count: Tensor, smoothing: float) -> Tensor:
    """Label smoothing's term, ``(N,)``, linear in the scores (see :mod:`.smoothing`).

    ``smoothing`` times the target's score minus the weighted mean score of the other sampled
    classes, without their correction. A ratio of two estimates, so that adding a constant to all
    scores changes nothing.
    """
    states, num_sampled = at_least_float32(terms.context), len(log_expected_count)
    target_scores = (states * terms.target_embeddings()).sum(-1) + terms.target_offset
    if num_sampled == 0:
        return torch.zeros_like(target_scores)  # nothing to smooth over
    weights = (log_expected_count.min() - log_expected_count).exp().to(states.dtype)
    biases = terms.sampled_offset + log_expected_count.to(states.dtype)
    # Not a matrix product, which autocast would compute in float16.
    weighted = (terms.embeddings[:num_sampled].to(states.dtype) * weights.unsqueeze(1)).sum(0)
    sum_of_scores = (states * weighted).sum(-1) + (weights * biases).sum()
    # A sampled target is not another class.
    own_weights = weights[terms.target_rows.clamp(max=num_sampled - 1)]
    own_weights = torch.where(terms.target_rows < num_sampled, own_weights, 0.0)
    weight_of_others = weights.sum() - own_weights
    has_others = weight_of_others > ROUNDING
    mean_of_others = (sum_of_scores - own_weights * target_scores) / weight_of_others.where(
        has_others, 1.0
    )
    return torch.where(has_others, smoothing * (target_scores - mean_of_others), 0.0)
