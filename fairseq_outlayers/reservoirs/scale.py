"""Learnable factors of frozen matrices."""

from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class EchoStart(NamedTuple):
    """Initial scales of a frozen layer."""

    gamma: float
    radius: float
    input_norm: str  # in ``INPUT_NORMS``


PAPER = EchoStart(10.0, 1.0, "none")  # of Garg et al. (2020)


class Scale(nn.Module):
    """A factor of a frozen matrix, or one per gate (``rho`` and ``gamma`` of Garg et al. 2020).

    Args:
        initial: initial value.
        learned: whether it is a parameter; else it is constant and not saved.
        gates: number of factors.
    """

    value: Tensor  # (gates,)

    def __init__(self, initial: float, learned: bool = True, gates: int = 1):
        super().__init__()
        value = torch.full((gates,), float(initial))
        if learned:
            self.value = nn.Parameter(value)
        else:
            self.register_buffer("value", value, persistent=False)

    def linear(self, inputs: Tensor, weight: Tensor) -> Tensor:
        """``scale * (inputs weight^T)``, ``(..., D) -> (..., gates H)``.

        Does not scale the weights, because that would need a weight gradient.
        """
        if len(self.value) == 1:
            return F.linear(inputs * self.value, weight)
        return scaled(self.value, F.linear(inputs, weight))


def scaled(scale: Tensor, features: Tensor) -> Tensor:
    """Multiply features ``(..., gates H)`` by each gate's factor in ``scale``."""
    return (features.unflatten(-1, (len(scale), -1)) * scale.unsqueeze(-1)).flatten(-2)


def fold(scale: Tensor, weight: Tensor) -> Tensor:
    """Multiply the rows of a weight ``(gates H, D)`` by each gate's factor in ``scale``."""
    return (weight.unflatten(0, (len(scale), -1)) * scale.view(-1, 1, 1)).flatten(0, 1)
