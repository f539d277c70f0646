"""The simple echo state layer, with a custom backward pass."""

from typing import Any, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairseq_outlayers.layers.autocast import accumulation_dtype, compute_dtype
from fairseq_outlayers.layers.recurrent.recurrent_layer import State, Step, positions_in_order
from fairseq_outlayers.reservoirs.frozen_layer import FrozenLayer
from fairseq_outlayers.reservoirs.reservoir import Reservoir
from fairseq_outlayers.reservoirs.scale import PAPER, EchoStart, Scale


class EchoStateLayer(FrozenLayer):
    """``h_t = (1 - a) h_{t-1} + a tanh(rho Wr h_{t-1} + gamma Wi x_t)`` (Garg et al. 2020, eq. 2).

    Args:
        reservoir: the frozen matrices ``Wr`` and ``Wi``.
        radius: ``rho``.
        gamma: scale of the inputs.
        leak_rate: ``a``; 1 in the paper.
    """

    # output_variance: gain 1 for inputs of deviation 0.84, to which a stack of such layers brings
    # inputs of any deviation (docs/echo_states.md).
    starts = {"output_variance": EchoStart(3.0, 0.5, "fan_in"), "paper": PAPER}  # noqa: RUF012

    def __init__(self, reservoir: Reservoir, radius: Scale, gamma: Scale, leak_rate: float = 1.0):
        super().__init__(reservoir, radius, gamma, state_size=1)
        self.leak_rate = leak_rate

    def steps(self, inputs: Tensor) -> Step:
        drive = self.drive(inputs)

        def step(position: int, rest: Optional[Tensor], state: State) -> State:
            hidden = state[0]
            new = torch.tanh(drive(position, rest, hidden))
            return (new if self.leak_rate == 1.0 else torch.lerp(hidden, new, self.leak_rate),)

        return step

    def forward(
        self,
        inputs: Tensor,
        state: Optional[State] = None,
        padding: Optional[Tensor] = None,
        reverse: bool = False,
    ) -> Tuple[Tensor, State]:
        inputs = inputs.to(compute_dtype(inputs))
        start = self.start(inputs)[0] if state is None else state[0].to(inputs.dtype)
        reservoir, scales = self.reservoir, (self.radius.value, self.gamma.value)
        matrices = (each.to(inputs.dtype) for each in (reservoir.recurrent, reservoir.input))
        states = _EchoStates.apply(inputs, start, *scales, *matrices, self.leak_rate, reverse)
        if reverse and padding is not None:
            # Padding is read last, so real positions do not depend on these states.
            states = states.masked_fill(padding, 0.0)
        return states, (states[0 if reverse else -1],)


class _EchoStates(torch.autograd.Function):
    """All states of a sequence; saves inputs and states, and computes no matrix gradients.

    The scales keep their type under autocast: the sums that are their gradients may be larger than
    float16 can hold.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        start: Tensor,
        radius: Tensor,
        gamma: Tensor,
        recurrent: Tensor,
        from_input: Tensor,
        leak: float,
        reverse: bool,
    ) -> Tensor:
        states = _driven(inputs, from_input, gamma.to(inputs.dtype))
        to_drive = (recurrent * radius.to(inputs.dtype)).t()
        hidden = start
        for position in positions_in_order(len(inputs), reverse):
            # The drive becomes the state in place.
            new = states[position].addmm_(hidden, to_drive).tanh_()
            hidden = new if leak == 1.0 else new.mul_(leak).add_(hidden, alpha=1.0 - leak)
        ctx.save_for_backward(inputs, start, radius, gamma, recurrent, from_input, states)
        ctx.leak, ctx.reverse = leak, reverse
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Optional[Tensor], ...]:
        inputs, start, *scales, recurrent, from_input, states = ctx.saved_tensors
        radius, gamma = (scale.to(states.dtype) for scale in scales)
        leak = ctx.leak
        if leak == 1.0:
            grad_drive = torch.empty_like(states)
        else:  # the drive by the inputs, overwritten by gradients
            grad_drive, to_drive = _driven(inputs, from_input, gamma), (recurrent * radius).t()
        wide = accumulation_dtype(states.dtype)
        grad_hidden, grad_radius = torch.zeros_like(start), torch.zeros_like(radius, dtype=wide)
        # From the state read last to the one read first.
        for position in positions_in_order(len(inputs), not ctx.reverse):
            before = position + 1 if ctx.reverse else position - 1
            previous = states[before] if 0 <= before < len(states) else start
            new = states[position]
            if leak != 1.0:
                # Recomputed: a difference of states loses digits if the leak is small.
                new = grad_drive[position].addmm(previous, to_drive).tanh_()
            grad_new = torch.add(gradient[position], grad_hidden)
            drive = torch.mul(grad_new, leak, out=grad_drive[position])
            drive.addcmul_(drive * new, new, value=-1.0)  # (1 - tanh^2)
            through = drive @ recurrent
            grad_radius += (through * previous).sum(dtype=wide)
            grad_hidden = through.mul_(radius)
            if leak != 1.0:
                grad_hidden.add_(grad_new, alpha=1.0 - leak)
        through = grad_drive @ from_input
        grad_gamma = (through * inputs).sum(dtype=wide).reshape(gamma.shape)
        grad_scales = grad_radius.to(scales[0]), grad_gamma.to(scales[1])
        return through.mul_(gamma), grad_hidden, *grad_scales, None, None, None, None


def _driven(inputs: Tensor, from_input: Tensor, gamma: Tensor) -> Tensor:
    return (inputs @ from_input.t()).mul_(gamma)
