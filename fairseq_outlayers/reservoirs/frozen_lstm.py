"""The echo state layer with LSTM cells, with a custom backward pass."""

from typing import Any, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from fairseq_outlayers.layers.autocast import accumulation_dtype, compute_dtype
from fairseq_outlayers.layers.recurrent.cells import lstm_cell
from fairseq_outlayers.layers.recurrent.kernel_dtype import call_kernel
from fairseq_outlayers.layers.recurrent.recurrent_layer import State, Step, positions_in_order
from fairseq_outlayers.layers.recurrent.tf32 import without_tf32
from fairseq_outlayers.reservoirs.frozen_layer import FrozenLayer
from fairseq_outlayers.reservoirs.reservoir import Reservoir
from fairseq_outlayers.reservoirs.scale import PAPER, EchoStart, Scale, fold, scaled

through_sigmoid, through_tanh = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


class FrozenLSTM(FrozenLayer):
    """An LSTM without biases whose gates are ``rho Wr_g h_{t-1} + gamma Wi_g x_t``, both frozen.

    Sequences run on PyTorch's kernel with the scales multiplied into its weights.

    Args:
        reservoir: the frozen matrices, 4 gates in the order i, f, g, o.
        radius: ``rho``, one or one per gate.
        gamma: scale of the inputs, one or one per gate.
    """

    gates = 4
    # output_variance: gain 1.09 for small inputs, which smaller scales shrink from layer to layer.
    starts = {"output_variance": EchoStart(3.5, 1.0, "fan_in"), "paper": PAPER}  # noqa: RUF012

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
        if len(inputs) == 1:  # scaling the weights costs more than the step
            return super().forward(inputs, state, padding, reverse)
        inputs = inputs.to(compute_dtype(inputs))
        start = self.start(inputs) if state is None else state
        reservoir, scales = self.reservoir, (self.radius.value, self.gamma.value)
        matrices = (each.to(inputs.dtype) for each in (reservoir.recurrent, reservoir.input))
        start = tuple(each.to(inputs.dtype) for each in start)
        states, cell = _LSTMStates.apply(inputs, *start, *scales, *matrices, reverse)
        if reverse and padding is not None:
            # Padding is read last, so real positions do not depend on these states.
            states = states.masked_fill(padding, 0.0)
            cell = cell.masked_fill(padding[0], 0.0)
        return states, (states[0 if reverse else -1], cell)


def _run_lstm(inputs: Tensor, state: List[Tensor], weights: List[Tensor]) -> Any:
    return torch.lstm(inputs, state, weights, False, 1, 0.0, False, False, False)


class _LSTMStates(torch.autograd.Function):
    """All states of a sequence; saves inputs and states, and computes no matrix gradients.

    PyTorch's kernel saves all gates and cells for its backward pass. Here they are recomputed;
    because the states are known, the gates of all steps are one product. The scales keep their
    type under autocast: the sums that are their gradients may be larger than float16 can hold.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        hidden: Tensor,
        cell: Tensor,
        radius: Tensor,
        gamma: Tensor,
        recurrent: Tensor,
        from_input: Tensor,
        reverse: bool,
    ) -> Tuple[Tensor, Tensor]:
        scales = (scale.to(inputs.dtype) for scale in (gamma, radius))
        weights = list(map(fold, scales, (from_input, recurrent)))
        start = [hidden.unsqueeze(0), cell.unsqueeze(0)]
        read = inputs.flip(0) if reverse else inputs
        with without_tf32():
            states, _, last = call_kernel(_run_lstm, read, start, weights)
        states, last = states.to(inputs.dtype), last.to(inputs.dtype)
        if reverse:
            states = states.flip(0)
        ctx.save_for_backward(inputs, hidden, cell, radius, gamma, recurrent, from_input, states)
        ctx.reverse = reverse
        return states, last[0]

    @staticmethod
    @once_differentiable
    @without_tf32()
    def backward(ctx: Any, grad_states: Tensor, grad_cell: Tensor) -> Tuple[Optional[Tensor], ...]:
        inputs, hidden, cell, *scales, recurrent, from_input, states = ctx.saved_tensors
        radius, gamma = (scale.to(states.dtype) for scale in scales)
        start, matrix = hidden.unsqueeze(0), fold(radius, recurrent)
        before = torch.cat([states[1:], start] if ctx.reverse else [start, states[:-1]])
        parts = F.linear(before, recurrent), F.linear(inputs, from_input)  # (T, B, 4 H) each
        steps = _gates_and_cells(parts, (radius, gamma), cell, ctx.reverse)
        wide = accumulation_dtype(states.dtype)
        grad_radius, grad_gamma = (torch.zeros_like(scale, dtype=wide) for scale in (radius, gamma))
        grad_hidden = torch.zeros_like(hidden)
        # From the state read last to the one read first.
        for position in positions_in_order(len(inputs), not ctx.reverse):
            grad_hidden = grad_hidden + grad_states[position]
            grad_gates, grad_cell = _through_cell(*steps.pop(), grad_hidden, grad_cell)
            grad_radius += _by_gate(grad_gates * parts[0][position], radius)
            grad_gamma += _by_gate(grad_gates * parts[1][position], gamma)
            grad_hidden = grad_gates @ matrix
            parts[1][position] = grad_gates  # overwrites a part that is no longer needed
        grad_inputs = parts[1] @ fold(gamma, from_input)
        grad_scales = grad_radius.to(scales[0]), grad_gamma.to(scales[1])
        return grad_inputs, grad_hidden, grad_cell, *grad_scales, None, None, None


def _gates_and_cells(
    parts: Tuple[Tensor, Tensor], scales: Tuple[Tensor, Tensor], cell: Tensor, reverse: bool
) -> List[Tuple[Tensor, Tensor, Tensor]]:
    """Recompute the kernel's gates and cells, in reading order.

    Args:
        parts: unscaled parts of the pre-activations, ``(T, B, 4 H)`` each.
        scales: of these parts.
        cell: the initial cell.
    Returns:
        Gates ``(B, 4 H)``, and the cell before and after, for each position.
    """
    steps = []
    for position in positions_in_order(len(parts[0]), reverse):
        terms = (scaled(scale, part[position]) for scale, part in zip(scales, parts, strict=True))
        gates = torch.add(*terms)
        i, f, g, o = gates.chunk(4, dim=1)
        for gate in (i, f, o):
            gate.sigmoid_()
        before, cell = cell, torch.addcmul(f * cell, i, g.tanh_())
        steps.append((gates, before, cell))
    return steps


def _through_cell(
    gates: Tensor, before: Tensor, after: Tensor, grad_hidden: Tensor, grad_cell: Tensor
) -> Tuple[Tensor, Tensor]:
    """Gradients of the pre-activations ``(B, 4 H)`` and of the previous cell.

    Args:
        gates: ``(B, 4 H)``.
        before: the previous cell.
        after: the new cell.
        grad_hidden: gradient of the state.
        grad_cell: gradient of the new cell from later positions.
    """
    i, f, g, o = gates.chunk(4, dim=1)
    shown = torch.tanh(after)
    grad_cell = grad_cell + through_tanh(grad_hidden * o, shown)
    grad_gates = [
        through_sigmoid(grad_cell * g, i),
        through_sigmoid(grad_cell * before, f),
        through_tanh(grad_cell * i, g),
        through_sigmoid(grad_hidden * shown, o),
    ]
    return torch.cat(grad_gates, dim=1), grad_cell * f


def _by_gate(products: Tensor, scale: Tensor) -> Tensor:
    """Sum ``(B, 4 H)`` over the features of each factor in ``scale``."""
    wide = accumulation_dtype(products.dtype)
    return products.unflatten(1, (len(scale), -1)).sum((0, 2), dtype=wide)
