"""Triton kernels of the losses; imported on a GPU alone."""

from typing import Any, Optional

import torch
import triton
import triton.language as tl
from torch import Tensor

LARGEST_BLOCK = 4096  # columns at a time
WARPS = 8


@triton.jit
def _scores_of(
    first,
    offset,
    excluded_column,
    column,
    num_columns,
    has_offset: tl.constexpr,
    has_excluded: tl.constexpr,
):
    """Scores of some columns of a row in float32; minus infinity beyond the last one."""
    value = tl.load(first + column, mask=column < num_columns, other=float("-inf"))
    value = value.to(tl.float32)
    if has_offset:
        value += tl.load(offset + column, mask=column < num_columns, other=0.0)
    if has_excluded:
        value = tl.where(column == excluded_column, float("-inf"), value)
    return value


@triton.jit
def _finite(value):
    """A number to subtract from scores: infinity minus infinity is not a number, so then zero."""
    return tl.where(tl.abs(value) == float("inf"), 0.0, value)


@triton.jit
def _softmax_rows(
    scores,
    offset,
    extra,
    excluded,
    normalizer,
    stride,
    num_columns,
    has_offset: tl.constexpr,
    has_extra: tl.constexpr,
    has_excluded: tl.constexpr,
    writes: tl.constexpr,
    block: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, block)
    first = scores + row * stride
    excluded_column = -1
    if has_excluded:
        excluded_column = tl.load(excluded + row)
    # Running maxima and sums, a pair for every lane.
    highest = tl.full([block], float("-inf"), tl.float32)
    total = tl.zeros([block], tl.float32)
    for start in range(0, num_columns, block):
        column = start + lanes
        value = _scores_of(
            first, offset, excluded_column, column, num_columns, has_offset, has_excluded
        )
        higher = tl.maximum(highest, value)
        base = _finite(higher)
        total = total * tl.exp(highest - base) + tl.exp(value - base)
        highest = higher
    top = tl.max(highest, 0)
    base = _finite(top)
    log_sum = base + tl.log(tl.sum(total * tl.exp(highest - base), 0))
    if has_extra:
        other = tl.load(extra + row)
        base = _finite(tl.maximum(log_sum, other))
        log_sum = base + tl.log(tl.exp(log_sum - base) + tl.exp(other - base))
    tl.store(normalizer + row, log_sum)
    if writes:
        for start in range(0, num_columns, block):
            column = start + lanes
            value = _scores_of(
                first, offset, excluded_column, column, num_columns, has_offset, has_excluded
            )
            share = tl.exp(value - log_sum).to(scores.dtype.element_ty)
            tl.store(first + column, share, mask=column < num_columns)


def softmax_rows(
    scores: Tensor,
    offset: Optional[Tensor],
    extra: Optional[Tensor],
    excluded: Optional[Tensor],
    normalizer: Tensor,
    writes: bool,
) -> None:
    """Fill ``normalizer``, and overwrite scores by probabilities; see :func:`.softmax_`.

    Args:
        scores: ``(C, K)``, float32 or bfloat16.
        offset: ``(K,)``, computed in float32, or None.
        extra: ``(C,)``, computed in float32, or None.
        excluded: ``(C,)`` in int64, or None.
        normalizer: ``(C,)`` in float32.
        writes: whether probabilities are wanted.
    """
    block = min(LARGEST_BLOCK, triton.next_power_of_2(scores.size(1)))
    kernel: Any = _softmax_rows[(len(scores),)]
    with torch.cuda.device_of(scores):
        kernel(
            scores,
            scores if offset is None else offset.float().contiguous(),
            scores if extra is None else extra.float().contiguous(),
            scores if excluded is None else excluded.contiguous(),
            normalizer,
            scores.stride(0),
            scores.size(1),
            has_offset=offset is not None,
            has_extra=extra is not None,
            has_excluded=excluded is not None,
            writes=writes,
            block=block,
            num_warps=WARPS,
        )
