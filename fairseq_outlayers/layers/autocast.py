"""Autocast for products that it does not reach: those of custom functions."""

import torch
from torch import Tensor


def type_of_products(tensor: Tensor) -> torch.dtype:
    """The dtype of matrix products of a tensor: autocast's, or its own."""
    device = tensor.device.type
    if torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return tensor.dtype
