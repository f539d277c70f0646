"""Softmax of every row in place, with its normalizers: two passes over the scores on a GPU.

PyTorch's operations make about ten passes over the scores of a chunk, half of them in float32,
which takes longer than the products of tensor cores. Sizes: ``C`` positions, ``K`` classes.
"""

import functools
import importlib.util
import logging
from typing import Optional, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.losses.precision import BYTES_OF_SCORE, at_least_float32

FUSED_TYPES = (torch.float32, torch.bfloat16)  # float16 needs a scale against underflow
MOST_CLASSES = 2**20  # beyond, a chunk has fewer rows than a GPU has multiprocessors
logger = logging.getLogger(__name__)


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
    if is_fused(scores.device, scores.dtype, scores.size(1)) and scores.numel() > 0:
        return _fused(scores, offset, extra, excluded, wants_probabilities)
    wide = at_least_float32(scores)
    if offset is not None:
        wide = wide.add_(offset) if offset.dtype == wide.dtype else wide + offset
    if excluded is not None and wide.size(1) > 0:
        wide.scatter_(1, *exclusion_scatter(wide, excluded))
    normalizer = wide.logsumexp(1)
    if extra is not None:
        normalizer = torch.logaddexp(normalizer, extra)
    if not wants_probabilities:
        return normalizer, None
    return normalizer, wide.sub_(normalizer.unsqueeze(1)).exp_()


def exclusion_scatter(scores: Tensor, columns: Tensor) -> Tuple[Tensor, Tensor]:
    """Index and values for ``scatter_`` that exclude a class from each row.

    Has no mask of rows, which a device would have to count.

    Args:
        scores: ``(C, K)``, ``K > 0``.
        columns: of the excluded classes, ``(C,)``; ``K`` or more for none.
    Returns:
        ``(C, 1)`` each; the values are minus infinity, or the present score in a row without one.
    """
    column = columns.clamp(max=scores.size(1) - 1).unsqueeze(1)
    is_there = (columns < scores.size(1)).unsqueeze(1)
    return column, scores.gather(1, column).masked_fill(is_there, float("-inf"))


def is_fused(device: torch.device, dtype: torch.dtype, num_classes: int) -> bool:
    """Whether :func:`softmax_` is one kernel for scores of these classes, in this dtype."""
    if device.type != "cuda" or dtype not in FUSED_TYPES or num_classes > MOST_CLASSES:
        return False
    return _kernel_works(device, dtype)


def bytes_of_score(device: torch.device, dtype: torch.dtype, num_classes: int) -> int:
    """Memory that a score takes in :func:`softmax_` and the products after it."""
    return dtype.itemsize if is_fused(device, dtype, num_classes) else BYTES_OF_SCORE


@functools.cache
def _kernel_works(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether Triton is there and can compile, for which it needs a C compiler."""
    if importlib.util.find_spec("triton") is None:
        return False
    try:
        _fused(torch.zeros(2, 3, device=device, dtype=dtype), None, None, None, True)
    except torch.OutOfMemoryError:
        raise  # temporary: raised, so that functools.cache keeps no answer
    except Exception as error:
        reason = str(error).splitlines()[:1]
        logger.warning("losses run without their kernel, slower: Triton fails here: %s", reason)
        return False
    return True


def _fused(
    scores: Tensor,
    offset: Optional[Tensor],
    extra: Optional[Tensor],
    excluded: Optional[Tensor],
    wants_probabilities: bool,
) -> Tuple[Tensor, Optional[Tensor]]:
    from fairseq_outlayers.losses import triton_kernels  # needs Triton

    normalizer = scores.new_empty(len(scores), dtype=torch.float32)
    triton_kernels.softmax_rows(scores, offset, extra, excluded, normalizer, wants_probabilities)
    return normalizer, scores if wants_probabilities else None
