"""The trainable recurrent layer of RNMT+."""

from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer, State, Step
from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear

CELL_LIMIT = 10.0


class LayerNormLSTM(RecurrentLayer):
    """LSTM with a layer norm on each gate (Chen et al. 2018, RNMT+).

    ``i, f, g, o = gain * norm(W [x ; h]) + bias``, each gate normalized separately;
    ``c' = clamp(sigmoid(f) c + sigmoid(i) tanh(g))`` to at most 10, ``h' = sigmoid(o) c'``.

    Args:
        input_size: ``D``.
        hidden_size: ``H``.
    """

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__(input_size, hidden_size, state_size=2)
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.gain = nn.Parameter(torch.empty(4, hidden_size))
        self.bias = nn.Parameter(torch.empty(4, hidden_size))
        self.reset_parameters(hidden_size**-0.5)

    def reset_parameters(self, bound: float) -> None:
        """Weights uniform in ``[-bound, bound]``, gains 1, all biases 0."""
        nn.init.uniform_(self.weight_ih, -bound, bound)
        nn.init.uniform_(self.weight_hh, -bound, bound)
        nn.init.ones_(self.gain)
        nn.init.zeros_(self.bias)

    def steps(self, inputs: Tensor) -> Step:
        given = inputs.size(-1)
        input_part = F.linear(inputs, self.weight_ih[:, :given])
        from_state = StepwiseLinear(self.weight_hh)
        from_rest = StepwiseLinear(self.weight_ih[:, given:]) if given < self.input_size else None

        def step(position: int, rest: Optional[Tensor], state: State) -> State:
            hidden, cell = state
            gates = input_part[position] + from_state(hidden)
            if from_rest is not None and rest is not None:
                gates = gates + from_rest(rest)
            gates = F.layer_norm(gates.unflatten(-1, self.gain.shape), self.gain.shape[1:])
            i, f, g, o = torch.addcmul(self.bias, gates, self.gain).unbind(1)
            cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
            cell = cell.clamp(-CELL_LIMIT, CELL_LIMIT)
            return torch.sigmoid(o) * cell, cell

        return step
