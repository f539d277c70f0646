"""One step of an LSTM."""

from typing import Tuple

import torch
from torch import Tensor


def lstm_cell(gates: Tensor, cell: Tensor) -> Tuple[Tensor, Tensor]:
    """Hidden state and cell from pre-activations ``(B, 4H)`` in the order i, f, g, o."""
    in_gate, forget_gate, candidate, out_gate = gates.chunk(4, dim=1)
    cell = torch.sigmoid(forget_gate) * cell + torch.sigmoid(in_gate) * torch.tanh(candidate)
    return torch.sigmoid(out_gate) * torch.tanh(cell), cell
