"""LSTM layers over left-padded batches, on PyTorch's fused kernel, without packing."""

from typing import Any, List, Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.dropout import Dropout
from fairseq_outlayers.layers.padding import flag_padding, reversal, take_positions
from fairseq_outlayers.layers.recurrent.fused_lstm import fused_lstm

# Closes the input, forget and output gates to exactly 0 in every floating-point type.
CLOSED = -1e4


class LeftPaddedLSTM(nn.Module):
    """A stack of LSTM layers with states exactly zero until the first real token.

    An extra input, 1 where padded and 0 elsewhere, closes the input, forget and output gates, so a
    batch needs neither packing nor a mask, and the last time step has every sentence's final state.
    Packing costs more than twice as much as the recurrence itself.

    Args:
        input_size: size of the inputs.
        hidden_size: size of the outputs; with ``bidirectional`` each direction has half of it.
        num_layers: number of layers.
        dropout: between layers, not after the last.
        bidirectional: add a backward direction to every layer.
    Raises:
        ValueError: if ``hidden_size`` is odd and ``bidirectional``.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ):
        super().__init__()
        directions = 2 if bidirectional else 1
        if hidden_size % directions:
            raise ValueError(f"hidden size {hidden_size} is odd; two directions need an even one")
        self.dropout = Dropout(dropout, self)
        # Only hold parameters: `_run` calls the kernel with an extra input column.
        self.layers = nn.ModuleList(
            nn.ModuleList(
                nn.LSTM(input_size if layer == 0 else hidden_size, hidden_size // directions)
                for _ in range(directions)
            )
            for layer in range(num_layers)
        )

    def forward(
        self, inputs: Tensor, padding_mask: Tensor, backward_inputs: Optional[Tensor] = None
    ) -> Tuple[Tensor, List[Tensor], List[Tensor]]:
        """Run all layers.

        Args:
            inputs: ``(B, S, input_size)``, left-padded.
            padding_mask: True where padded, ``(B, S)``.
            backward_inputs: other inputs of the backward direction, in the same order.
        Returns:
            The last layer's states, ``(B, S, hidden_size)``, zero where padded; and for every
            layer the final hidden state and the final cell, ``(B, hidden_size)`` each.
        """
        states, hiddens, cells = inputs, [], []
        layers: List[Any] = list(self.layers)
        backwards = reversal(padding_mask) if len(layers[0]) == 2 else None
        for depth, directions in enumerate(layers):
            if depth > 0:
                states = self.dropout(states)
            runs = [_run(directions[0], states, padding_mask)]
            if backwards is not None:
                below = states if depth or backward_inputs is None else backward_inputs
                output, hidden, cell = _run(
                    directions[1], take_positions(below, backwards), padding_mask
                )
                runs.append((take_positions(output, backwards), hidden, cell))
            outputs, final_hiddens, final_cells = zip(*runs, strict=True)
            states = torch.cat(outputs, dim=-1)
            hiddens.append(torch.cat(final_hiddens, dim=-1))
            cells.append(torch.cat(final_cells, dim=-1))
        return states, hiddens, cells


def _run(lstm: Any, inputs: Tensor, padding_mask: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    """One layer in one direction: states ``(B, S, H)``, final hidden and cell ``(B, H)``."""
    size = lstm.hidden_size
    gate_of_padding = inputs.new_full((4 * size, 1), CLOSED)
    gate_of_padding[2 * size : 3 * size] = 0.0  # the candidate: its gate is closed
    weights = [
        torch.cat([lstm.weight_ih_l0, gate_of_padding], dim=1),
        lstm.weight_hh_l0,
        lstm.bias_ih_l0,
        lstm.bias_hh_l0,
    ]
    flagged = flag_padding(inputs, padding_mask)
    start = inputs.new_zeros(1, inputs.size(0), size)
    states, hidden, cell = fused_lstm(
        flagged.transpose(0, 1), (start, start), weights, lstm.training
    )
    return states.transpose(0, 1), hidden[0], cell[0]
