"""Dtypes of products and sums in custom functions, which autocast does not reach."""

import torch
from torch import Tensor


def compute_dtype(tensor: Tensor) -> torch.dtype:
    """The dtype of matrix products of a tensor: autocast's, or its own, as float64 always has."""
    device = tensor.device.type
    if tensor.dtype != torch.float64 and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return tensor.dtype


def accumulation_dtype(dtype: torch.dtype) -> torch.dtype:
    """At least float32, for sums over many positions, which half precision cannot hold."""
    return torch.promote_types(dtype, torch.float32)
