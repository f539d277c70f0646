"""A bidirectional GRU over left-padded batches, on PyTorch's fused kernel, without packing."""

from typing import Any, List

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.padding import flag_padding, reversal, take_positions
from fairseq_outlayers.layers.recurrent.kernel_dtype import call_kernel

# Opens the update gate to exactly 1 in every floating-point type, so the state does not change.
OPEN = 1e4


class LeftPaddedGRU(nn.Module):
    """One bidirectional GRU layer with states exactly zero until the first real token.

    An extra input, 1 where padded and 0 elsewhere, opens the update gate, so a batch needs neither
    packing nor a mask. The reset gate is applied after the recurrent matrix, as in cuDNN and
    Nematus.

    Args:
        input_size: size of the inputs.
        hidden_size: size of the states of either direction.
    """

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        # Only hold parameters: `_run` calls the kernel with an extra input column.
        self.forwards = nn.GRU(input_size, hidden_size)
        self.backwards = nn.GRU(input_size, hidden_size)

    def forward(self, inputs: Tensor, backward_inputs: Tensor, padding_mask: Tensor) -> Tensor:
        """Run both directions.

        Args:
            inputs: of the forward direction, ``(B, S, input_size)``, left-padded.
            backward_inputs: of the backward direction, in the same order.
            padding_mask: True where padded, ``(B, S)``.
        Returns:
            Concatenated states of both, ``(B, S, 2 * hidden_size)``, zero where padded.
        """
        reverse = reversal(padding_mask)
        forwards = _run(self.forwards, inputs, padding_mask)
        backwards = _run(self.backwards, take_positions(backward_inputs, reverse), padding_mask)
        return torch.cat([forwards, take_positions(backwards, reverse)], dim=-1)


def _run(gru: Any, inputs: Tensor, padding_mask: Tensor) -> Tensor:
    """One direction: states ``(B, S, H)``."""
    size = gru.hidden_size
    gate_of_padding = inputs.new_zeros(3 * size, 1)  # reset, update, candidate
    gate_of_padding[size : 2 * size] = OPEN
    weights = [
        torch.cat([gru.weight_ih_l0, gate_of_padding], dim=1),
        gru.weight_hh_l0,
        gru.bias_ih_l0,
        gru.bias_hh_l0,
    ]
    flagged = flag_padding(inputs, padding_mask)
    start = inputs.new_zeros(1, inputs.size(0), size)

    def kernel(x: Tensor, first: List[Tensor], w: List[Tensor]) -> Tensor:
        return torch.gru(x, first[0], w, True, 1, 0.0, gru.training, False, False)[0]

    states = call_kernel(kernel, flagged.transpose(0, 1), [start], weights)
    return states.transpose(0, 1)
