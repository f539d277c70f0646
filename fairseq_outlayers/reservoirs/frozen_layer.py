"""Recurrent layers whose matrices are a frozen reservoir."""

from typing import Optional

from torch import Tensor

from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer
from fairseq_outlayers.reservoirs.reservoir import Reservoir
from fairseq_outlayers.reservoirs.scale import Scale


class FrozenLayer(RecurrentLayer):
    """A recurrent layer with frozen matrices and learnable scales (Garg et al. 2020, eq. 2).

    Without biases a zero state stays zero on zero inputs, so left padding needs no mask.

    Args:
        reservoir: the frozen matrices ``Wr`` and ``Wi``.
        radius: ``rho``; its absolute value is the spectral radius of ``rho Wr``.
        gamma: scale of the inputs.
        state_size: number of tensors in the state.
    """

    def __init__(self, reservoir: Reservoir, radius: Scale, gamma: Scale, state_size: int):
        super().__init__(reservoir.input_size, reservoir.hidden_size, state_size)
        self.reservoir, self.radius, self.gamma = reservoir, radius, gamma

    def reset_parameters(self, bound: float) -> None:
        """Do nothing: the scales keep their initial values."""

    def drive(self, inputs: Tensor) -> "Drive":
        """``gamma Wi x + rho Wr h`` for a sequence, step by step."""
        return Drive(self, inputs)


class Drive:
    """Pre-activations of a frozen layer, with one input product for all steps.

    Args:
        layer: the layer.
        inputs: ``(T, B, D')``, the first features of its input.
    """

    def __init__(self, layer: FrozenLayer, inputs: Tensor):
        self.radius, self.gamma = layer.radius, layer.gamma
        given, matrices = inputs.size(-1), layer.reservoir
        self.recurrent, self.from_rest = matrices.recurrent, matrices.input[:, given:]
        self.input_part = self.gamma.linear(inputs, matrices.input[:, :given])

    def __call__(self, position: int, rest: Optional[Tensor], hidden: Tensor) -> Tensor:
        """``(B, gates H)`` at one position."""
        drive = self.input_part[position] + self.radius.linear(hidden, self.recurrent)
        return drive if rest is None else drive + self.gamma.linear(rest, self.from_rest)
