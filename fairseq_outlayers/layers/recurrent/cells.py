"""One step of an LSTM or a GRU."""

from typing import Tuple

import torch
from torch import Tensor


def lstm_cell(gates: Tensor, cell: Tensor) -> Tuple[Tensor, Tensor]:
    """Hidden state and cell from pre-activations ``(B, 4H)`` in the order i, f, g, o."""
    in_gate, forget_gate, candidate, out_gate = gates.chunk(4, dim=1)
    cell = torch.sigmoid(forget_gate) * cell + torch.sigmoid(in_gate) * torch.tanh(candidate)
    return torch.sigmoid(out_gate) * torch.tanh(cell), cell


def gru_cell(from_input: Tensor, from_state: Tensor, state: Tensor) -> Tensor:
    """The next state ``(B, H)`` from pre-activations ``(B, 3H)`` in the order r, z, n."""
    input_reset, input_update, input_candidate = from_input.chunk(3, dim=1)
    reset, update, candidate = from_state.chunk(3, dim=1)
    reset, update = torch.sigmoid(input_reset + reset), torch.sigmoid(input_update + update)
    candidate = torch.tanh(input_candidate + reset * candidate)
    return candidate + update * (state - candidate)
