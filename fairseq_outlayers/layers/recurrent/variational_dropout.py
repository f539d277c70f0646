"""LSTM layers with one dropout mask for all time steps of a training step."""

from typing import Any, List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.layers.dropout import RetainableDropout
from fairseq_outlayers.layers.recurrent.cells import lstm_cell
from fairseq_outlayers.layers.recurrent.fused_lstm import fused_lstm

FORGET_BIAS = 1.0


class VariationalLSTM(RetainableDropout):
    """LSTM layers with variational dropout as in Assylbekov & Takhanov (2018).

    A layer's mask is drawn once per training step. All time steps share it, for the recurrence and
    for the output; cells and inputs are not dropped. The state carried into the next window is
    masked.

    The authors' mask is also shared by all rows of the batch. It is then a factor of the recurrent
    weights' columns, so PyTorch's fused kernel applies; only the first step of a window, whose
    state has another mask, is computed separately. Masks per row need a loop.

    Every gate has one bias; the forget gate has an additional constant 1.

    Args:
        input_size: of the first layer.
        hidden_size: ``H``, of all layers.
        num_layers: number of layers.
        dropout: probability to drop a hidden unit.
        per_row: draw a mask for every row of the batch.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        dropout: float = 0.0,
        per_row: bool = False,
    ):
        super().__init__()
        self.dropout, self.per_row = dropout, per_row
        self.layers = nn.ModuleList(
            LSTMLayer(input_size if layer == 0 else hidden_size, hidden_size)
            for layer in range(num_layers)
        )

    def forward(self, inputs: Tensor, state: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        """Run all layers over a window.

        Args:
            inputs: ``(B, T, input_size)``.
            state: of the previous window, ``(layers, 2, B, H)``, hidden states and cells; None for
                zeros.
        Returns:
            The last layer's states, ``(B, T, H)``, masked in training; and the new state.
        """
        states, carried = inputs.transpose(0, 1), []
        layers: List[Any] = list(self.layers)
        for number, layer in enumerate(layers):
            before = layer.zero_state(states) if state is None else state[number].to(states)
            states, after = layer(states, before, self.draw_mask(states.size(1), layer))
            carried.append(after)
        return states.transpose(0, 1), torch.stack(carried)

    def draw_mask(self, batch_size: int, layer: "LSTMLayer") -> Optional[Tensor]:
        """``(H,)`` or ``(B, H)`` of 0 and ``1 / (1 - dropout)``; None where nothing is dropped."""
        if self.dropout == 0 or not (self.training or self.retained):
            return None
        size: List[int] = [batch_size] if self.per_row else []
        mask = layer.recurrent.new_empty([*size, layer.hidden_size])
        return mask.bernoulli_(1 - self.dropout).div_(1 - self.dropout)


class LSTMLayer(nn.Module):
    """One layer; gates in PyTorch's order: input, forget, candidate, output.

    Args:
        input_size: ``I``.
        hidden_size: ``H``.
    """

    constant_bias: Tensor

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.hidden_size = hidden_size
        self.input = nn.Linear(input_size, 4 * hidden_size)
        self.recurrent = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        nn.init.uniform_(self.recurrent, -(hidden_size**-0.5), hidden_size**-0.5)
        # The kernel's second bias holds the constant of the forget gate.
        constant = torch.zeros(4 * hidden_size)
        constant[hidden_size : 2 * hidden_size] = FORGET_BIAS
        self.register_buffer("constant_bias", constant, persistent=False)

    def zero_state(self, inputs: Tensor) -> Tensor:
        """The initial hidden state and cell, ``(2, B, H)``."""
        return inputs.new_zeros(2, inputs.size(1), self.hidden_size)

    def forward(
        self, inputs: Tensor, state: Tensor, mask: Optional[Tensor]
    ) -> Tuple[Tensor, Tensor]:
        """Masked hidden states, ``(T, B, H)``, from inputs ``(T, B, I)``; and the final state."""
        if mask is None:
            return self._fused(inputs, state, self.recurrent)
        if mask.dim() == 2:
            steps = []
            for gates in self.input(inputs):
                state = self._step(gates, state, mask)
                steps.append(state[0])
            return torch.stack(steps), state
        # U (m * h) = (U m) h; only the state of the previous window has another mask.
        first = self._step(self.input(inputs[0]), state, mask=None)
        rest, last = self._fused(inputs[1:], first, self.recurrent * mask)
        hidden = torch.cat([first[:1], rest]) * mask
        return hidden, torch.stack([hidden[-1], last[1]])

    def _step(self, gates: Tensor, state: Tensor, mask: Optional[Tensor]) -> Tensor:
        """One time step: the next state, ``(2, B, H)``, its hidden half masked."""
        gates = gates + F.linear(state[0], self.recurrent) + self.constant_bias
        hidden, cell = lstm_cell(gates, state[1])
        return torch.stack([hidden if mask is None else hidden * mask, cell])

    def _fused(self, inputs: Tensor, state: Tensor, recurrent: Tensor) -> Tuple[Tensor, Tensor]:
        if len(inputs) == 0:
            return inputs.new_zeros(0, *state.shape[1:]), state
        weights = [self.input.weight, recurrent, self.input.bias, self.constant_bias]
        hidden, last, cell = fused_lstm(inputs, (state[:1], state[1:]), weights, self.training)
        return hidden, torch.cat([last, cell])
