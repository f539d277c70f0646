"""Recurrent layers whose matrices are a frozen reservoir."""

from typing import Callable, ClassVar, Dict, Optional

from torch import Tensor

from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer
from fairseq_outlayers.reservoirs.random_stream import uniform
from fairseq_outlayers.reservoirs.reservoir import Reservoir
from fairseq_outlayers.reservoirs.scale import EchoStart, Scale

Drive = Callable[[int, Optional[Tensor], Tensor], Tensor]


class FrozenLayer(RecurrentLayer):
    """A recurrent layer with frozen matrices and learnable scales (Garg et al. 2020, eq. 2).

    Without biases a zero state stays zero on zero inputs, so left padding needs no mask.

    Args:
        reservoir: the frozen matrices ``Wr`` and ``Wi``.
        radius: ``rho``; its absolute value is the spectral radius of ``rho Wr``.
        gamma: scale of the inputs.
        state_size: number of tensors in the state.
    Attributes:
        gates: number of recurrent matrices of ``H x H``, and of input matrices.
        starts: initial scales by ``--echo-start``; see `analysis.echo_gains` for
            ``output_variance``.
        draw: random weights of variance 1/3 before pruning, by seed, name, shape and sparsity.
    """

    gates: ClassVar[int] = 1
    starts: ClassVar[Dict[str, EchoStart]] = {}
    draw = staticmethod(uniform)

    def __init__(self, reservoir: Reservoir, radius: Scale, gamma: Scale, state_size: int):
        super().__init__(reservoir.input_size, reservoir.hidden_size, state_size)
        self.reservoir, self.radius, self.gamma = reservoir, radius, gamma

    def reset_parameters(self, bound: float) -> None:
        """Do nothing: the scales keep their initial values."""

    def drive(self, inputs: Tensor) -> Drive:
        """``gamma Wi x + rho Wr h`` step by step, with one input product for all steps.

        Args:
            inputs: ``(T, B, D')``, the first features of the layer's input.
        Returns:
            ``(B, gates H)``, of a position, its other features and the hidden state.
        """
        given, matrices = inputs.size(-1), self.reservoir
        from_rest = matrices.input[:, given:]
        input_part = self.gamma.linear(inputs, matrices.input[:, :given])

        def at(position: int, rest: Optional[Tensor], hidden: Tensor) -> Tensor:
            drive = input_part[position] + self.radius.linear(hidden, matrices.recurrent)
            return drive if rest is None else drive + self.gamma.linear(rest, from_rest)

        return at
