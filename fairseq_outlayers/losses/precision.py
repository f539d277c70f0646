"""Shared by all losses: the compute dtype and the number of positions in a chunk."""

from typing import Any, Optional

import torch
from torch import Tensor

from fairseq_outlayers.layers.autocast import accumulation_dtype, compute_dtype

# Measured for all classes, and for some thousands of sampled ones: smaller chunks read the class
# matrix too often, larger ones are no faster.
POSITIONS_ON_CPU = 128
SAMPLED_POSITIONS_ON_CPU = 512
# Accelerators need larger chunks. A score takes up to 8 bytes: 4 in float32, and 2 for each of the
# half-precision products before and after.
BYTES_ON_ACCELERATOR = 2**29
BYTES_OF_SCORE = 8
MOST_POSITIONS = 2048
MULTIPLE_OF = 8  # tensor cores

LOW_PRECISION = (torch.float16, torch.bfloat16)


def choose_chunk_size(
    asked: int,
    device: torch.device,
    num_classes: int,
    on_cpu: int = POSITIONS_ON_CPU,
    bytes_of_score: int = BYTES_OF_SCORE,
) -> int:
    """Positions per chunk of scores: ``asked``, or by device if that is 0.

    Args:
        asked: by the user; 0 for none.
        device: of the scores.
        num_classes: scored at each position; a chunk on an accelerator has at most half a gigabyte.
        on_cpu: chunk size on a CPU.
        bytes_of_score: that a score takes on an accelerator.
    Raises:
        ValueError: if ``asked`` is negative.
    """
    if asked < 0:
        raise ValueError(f"chunk_size={asked}: must be at least 0 (0: chosen by device)")
    if asked > 0:
        return asked
    if device.type == "cpu":
        return on_cpu
    fitting = BYTES_ON_ACCELERATOR // (bytes_of_score * max(num_classes, 1))
    return max(MULTIPLE_OF, min(MOST_POSITIONS, fitting // MULTIPLE_OF * MULTIPLE_OF))


def to_compute_dtype(*tensors: Optional[Tensor]) -> Any:
    """Cast tensors to the dtype of matrix products with the first: autocast's, or its own."""
    given = next(tensor for tensor in tensors if tensor is not None)
    dtype = compute_dtype(given)
    return tuple(None if tensor is None else tensor.to(dtype) for tensor in tensors)


def at_least_float32(tensor: Tensor) -> Tensor:
    """The tensor in at least float32; itself if it is."""
    return tensor.to(accumulation_dtype(tensor.dtype))
