"""Choices that every loss makes alike: the type to compute in, and the positions in a chunk."""

from typing import Any, Optional

import torch
from torch import Tensor

# 128 positions keep a chunk of logits in a CPU's cache; an accelerator wants more work at once.
CHUNK_SIZE_ON_CPU = 128
CHUNK_SIZE_ON_ACCELERATOR = 2048

LOW_PRECISION = (torch.float16, torch.bfloat16)


def choose_chunk_size(asked: int, device: torch.device) -> int:
    """``asked``, or what suits the device if that is 0."""
    if asked > 0:
        return asked
    return CHUNK_SIZE_ON_CPU if device.type == "cpu" else CHUNK_SIZE_ON_ACCELERATOR


def in_autocast_type(*tensors: Optional[Tensor]) -> Any:
    """What autocast does for a linear layer, which it does not do for these losses."""
    device = next(tensor.device.type for tensor in tensors if tensor is not None)
    if not torch.is_autocast_enabled(device):
        return tensors
    dtype = torch.get_autocast_dtype(device)
    return tuple(None if tensor is None else tensor.to(dtype) for tensor in tensors)


def at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in LOW_PRECISION else tensor
