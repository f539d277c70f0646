"""Highway layers."""

from typing import Tuple

import torch
import torch.nn as nn
from torch import Tensor

# Added to the learned bias of the transform gate, so that layers start close to the identity
# under any initialization (Srivastava et al. 2015).
TRANSFORM_BIAS = -2.0


class Highway(nn.Module):
    """``y = t * relu(B x + b) + (1 - t) * x`` with ``t = sigmoid(A x + a - 2)``.

    Args:
        size: of ``x`` and ``y``.
    """

    def __init__(self, size: int):
        super().__init__()
        self.projection = nn.Linear(size, 2 * size)  # [A; B] and [a; b], one matrix product
        nn.init.zeros_(self.projection.bias)

    def forward(self, x: Tensor) -> Tensor:
        """``(..., size) -> (..., size)``."""
        gate, candidate = self._gate_and_candidate(x)
        # Under autocast the product has a lower precision than x, which stays as it is.
        return torch.lerp(x, candidate.to(x.dtype), gate.to(x.dtype))

    def transform_gate(self, x: Tensor) -> Tensor:
        """``t``, the share of the candidate in each output, ``(..., size)``."""
        return self._gate_and_candidate(x)[0]

    def _gate_and_candidate(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        gate, candidate = self.projection(x).chunk(2, dim=-1)
        return torch.sigmoid(gate + TRANSFORM_BIAS), torch.relu(candidate)
