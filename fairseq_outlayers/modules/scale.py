"""The learnable factors in front of frozen matrices."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class Scale(nn.Module):
    """A factor of a frozen matrix, or one a gate (``rho`` and ``gamma`` of Garg et al. 2020).

    Args:
        initial: value at the start.
        learned: whether it is a parameter; else it stays what it is, and is not saved.
        gates: how many factors.
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

        The weights stay as they are: their scaled copy would cost a weight gradient.
        """
        if len(self.value) == 1:
            return F.linear(inputs * self.value, weight)
        gates = F.linear(inputs, weight).unflatten(-1, (len(self.value), -1))
        return (gates * self.value.unsqueeze(-1)).flatten(-2)

    def fold(self, weight: Tensor) -> Tensor:
        """``scale * weight``, ``(gates H, D)``."""
        blocks = weight.unflatten(0, (len(self.value), -1))
        return (blocks * self.value.view(-1, 1, 1)).flatten(0, 1)
