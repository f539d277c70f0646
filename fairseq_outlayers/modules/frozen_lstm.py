"""The echo state layer with LSTM cells."""

from typing import Optional, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.modules.frozen_layer import FrozenLayer
from fairseq_outlayers.modules.input_feeding_decoder import lstm_cell
from fairseq_outlayers.modules.recurrent_layer import State, Step
from fairseq_outlayers.modules.reservoir import Reservoir
from fairseq_outlayers.modules.scale import Scale


class FrozenLSTM(FrozenLayer):
    """An LSTM without biases whose gates are ``rho Wr_g h_{t-1} + gamma Wi_g x_t``, both frozen.

    Sequences run on PyTorch's kernel with the scales multiplied into its weights.

    Args:
        reservoir: the frozen matrices, 4 gates in the order i, f, g, o.
        radius: ``rho``, one or one for each gate.
        gamma: scale of the inputs, likewise.
    """

    def __init__(self, reservoir: Reservoir, radius: Scale, gamma: Scale):
        super().__init__(reservoir, radius, gamma, state_size=2)

    def steps(self, inputs: Tensor) -> Step:
        drive = self.drive(inputs)

        def step(position: int, rest: Optional[Tensor], state: State) -> State:
            hidden, cell = state
            return lstm_cell(drive(position, rest, hidden), cell)

        return step

    def forward(
        self,
        inputs: Tensor,
        state: Optional[State] = None,
        padding: Optional[Tensor] = None,
        reverse: bool = False,
    ) -> Tuple[Tensor, State]:
        if len(inputs) == 1:  # scaling the weights would cost more than the step
            return super().forward(inputs, state, padding, reverse)
        weights = [
            self.gamma.fold(self.reservoir.input).to(inputs.dtype),
            self.radius.fold(self.reservoir.recurrent).to(inputs.dtype),
        ]
        start = self.start(inputs) if state is None else state
        before = [part.to(inputs.dtype).unsqueeze(0) for part in start]
        # Backwards the padding in front comes last, where no real position sees its states.
        read = inputs.flip(0) if reverse else inputs
        states, hidden, cell = torch.lstm(
            read, before, weights, False, 1, 0.0, torch.is_grad_enabled(), False, False
        )
        if reverse:
            states = states.flip(0)
            if padding is not None:
                states = states.masked_fill(padding, 0.0)
        return states, (hidden[0], cell[0])
