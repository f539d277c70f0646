"""Softmax of every row in place, with its normalizers: two passes over the scores on a GPU.

PyTorch's operations make about ten passes over the scores of a chunk, half of them in float32,
which takes longer than the products of tensor cores. Sizes: ``C`` positions, ``K`` classes.
"""

import functools
import importlib.util
from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.losses.precision import BYTES_OF_SCORE, at_least_float32

FUSED_TYPES = (torch.float32, torch.bfloat16)  # float16 needs a scale against underflow


def softmax_(
    scores: Tensor,
    offset: Optional[Tensor] = None,
    extra: Optional[Tensor] = None,
    excluded: Optional[Tensor] = None,
    wants_probabilities: bool = True,
) -> Tuple[Tensor, Optional[Tensor]]:
    """Normalizers and probabilities of rows of scores.

    Args:
        scores: ``(C, K)``, overwritten.
        offset: added to every row, ``(K,)`` in at least float32, or None.
        extra: a further score for each row, ``(C,)`` in at least float32, or None.
        excluded: the class of each row with probability zero, ``(C,)``; ``K`` or more for none.
        wants_probabilities: False computes the normalizers alone.
    Returns:
        The logarithms of the sums of exponentiated scores, ``(C,)`` in at least float32, and the
        probabilities of the ``K`` classes, ``(C, K)``: in the dtype of the scores on a GPU, in at
        least float32 elsewhere; None if they are not wanted.
    """
    if is_fused(scores.device, scores.dtype) and scores.numel() > 0:
        return _fused(scores, offset, extra, excluded, wants_probabilities)
    wide = at_least_float32(scores)
    if offset is not None:
        wide = wide.add_(offset)
    if excluded is not None:
        exclude_(wide, excluded)
    normalizer = wide.logsumexp(1)
    if extra is not None:
        normalizer = torch.logaddexp(normalizer, extra)
    if not wants_probabilities:
        return normalizer, None
    return normalizer, wide.sub_(normalizer.unsqueeze(1)).exp_()


def exclude_(scores: Tensor, columns: Tensor) -> None:
    """Set a score of each row to minus infinity, without waiting for a device to count them.

    Args:
        scores: ``(C, K)``, changed in place.
        columns: ``(C,)``; ``K`` or more for none.
    """
    num_columns = scores.size(1)
    if num_columns > 0:
        column = columns.clamp(max=num_columns - 1).unsqueeze(1)
        is_there = (columns < num_columns).unsqueeze(1)
        scores.scatter_(1, column, scores.gather(1, column).masked_fill(is_there, float("-inf")))


def is_fused(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether :func:`softmax_` is one kernel for scores on this device, of this dtype."""
    return device.type == "cuda" and dtype in FUSED_TYPES and _has_triton()


def bytes_of_score(device: torch.device, dtype: torch.dtype) -> int:
    """Memory that a score takes in :func:`softmax_` and the products after it."""
    return dtype.itemsize if is_fused(device, dtype) else BYTES_OF_SCORE


@functools.cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


def _fused(
    scores: Tensor,
    offset: Optional[Tensor],
    extra: Optional[Tensor],
    excluded: Optional[Tensor],
    wants_probabilities: bool,
) -> Tuple[Tensor, Optional[Tensor]]:
    kernels: Any = importlib.import_module("fairseq_outlayers.losses.triton_kernels")
    normalizer = scores.new_empty(len(scores), dtype=torch.float32)
    kernels.softmax_rows(scores, offset, extra, excluded, normalizer, wants_probabilities)
    return normalizer, scores if wants_probabilities else None
