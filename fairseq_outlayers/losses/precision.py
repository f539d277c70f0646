"""Shared by all losses: the compute dtype and the number of positions in a chunk."""

from typing import Any, Optional

import torch
from torch import Tensor

# So many positions keep a chunk of scores in a CPU's cache: those of all classes, and those of some
# thousands of sampled ones.
POSITIONS_ON_CPU = 128
SAMPLED_POSITIONS_ON_CPU = 512
# An accelerator wants more work at once. A score takes up to 8 bytes: 4 in float32, and twice 2
# where the products before and after are in half precision.
BYTES_ON_ACCELERATOR = 2**29
BYTES_OF_SCORE = 8
MOST_POSITIONS = 2048
MULTIPLE_OF = 8  # tensor cores

LOW_PRECISION = (torch.float16, torch.bfloat16)


def choose_chunk_size(
    asked: int, device: torch.device, num_classes: int, on_cpu: int = POSITIONS_ON_CPU
) -> int:
    """Positions whose scores exist at a time: ``asked``, or what suits the device if that is 0.

    Args:
        asked: by the user.
        device: that the scores are on.
        num_classes: scored at each position; on an accelerator a chunk has at most half a gigabyte.
        on_cpu: what suits a CPU.
    """
    if asked > 0:
        return asked
    if device.type == "cpu":
        return on_cpu
    fitting = BYTES_ON_ACCELERATOR // (BYTES_OF_SCORE * max(num_classes, 1))
    return max(MULTIPLE_OF, min(MOST_POSITIONS, fitting // MULTIPLE_OF * MULTIPLE_OF))


def type_of_products(tensor: Tensor) -> torch.dtype:
    """What matrix products of a tensor are computed in: autocast's type, or its own."""
    device = tensor.device.type
    if torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return tensor.dtype


def in_autocast_type(*tensors: Optional[Tensor]) -> Any:
    """What autocast does for a linear layer, which it does not do for these losses."""
    device = next(tensor.device.type for tensor in tensors if tensor is not None)
    if not torch.is_autocast_enabled(device):
        return tensors
    dtype = torch.get_autocast_dtype(device)
    return tuple(None if tensor is None else tensor.to(dtype) for tensor in tensors)


def at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in LOW_PRECISION else tensor
