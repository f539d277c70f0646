"""The gated unit of Cho et al. (2014) and Bahdanau et al. (2015), whose reset gate comes first."""

from typing import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.layers.padding import reversal, take_positions
from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear

# Shuts the update gate to exactly 0 in every floating-point type: the state stays what it is.
SHUT = -1e4


class GatedUnit(nn.Module):
    """``h' = (1 - z) * h + z * tanh(W x + U (r * h) + b)`` (Bahdanau et al. 2015, App. A.1).

    The gates ``r`` and ``z`` are sigmoids of sums of the same form, ``W x + U h + b``. In
    ``torch.nn.GRU`` an open ``z`` keeps the old state, and ``r`` is applied to ``U h``. The first
    would be a change of sign, but the second is another function, so neither PyTorch's kernel nor
    cuDNN's serves: the recurrence is a loop.

    Args:
        input_size: size of the inputs ``x``.
        hidden_size: size ``H`` of the states.
    """

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.input = nn.Linear(input_size, 3 * hidden_size)  # r, z, candidate
        self.recurrent = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        nn.init.uniform_(self.recurrent, -(hidden_size**-0.5), hidden_size**-0.5)


def gated_step(recurrent: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """One step of gated units, from what the inputs add to ``r``, ``z`` and candidate, and a state.

    Make one a forward pass; do not keep it.

    Args:
        recurrent: ``U``, ``(3H, H)``, or ``(K, 3H, H)`` for ``K`` units side by side.
    Returns:
        ``(B, 3H), (B, H) -> (B, H)``, or ``(K, B, 3H), (K, B, H) -> (K, B, H)``.
    """
    size = recurrent.size(-1)
    # The candidate needs r first: two products a step.
    to_gates, to_candidate = map(StepwiseLinear, recurrent.split([2 * size, size], dim=-2))

    def step(from_input: Tensor, state: Tensor) -> Tensor:
        input_gates, input_candidate = from_input.split([2 * size, size], dim=-1)
        reset, update = torch.sigmoid(input_gates + to_gates(state)).chunk(2, dim=-1)
        candidate = torch.tanh(input_candidate + to_candidate(reset * state))
        return state + update * (candidate - state)

    return step


class BidirectionalGatedUnits(nn.Module):
    """Gated units in both directions, their states exactly zero until the first real token.

    One more input, 1 where padded and 0 elsewhere, holds the update gate shut, so a batch needs
    neither packing nor a mask. The inputs' products are made for whole sentences. Both directions
    share the loop: a step is two batched products for the two of them, and the gradients of the
    recurrent matrices are one product each, not one a step.

    Args:
        input_size: size of the inputs.
        hidden_size: size ``H`` of the states of either direction.
    """

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.forwards = GatedUnit(input_size, hidden_size)
        self.backwards = GatedUnit(input_size, hidden_size)

    def forward(self, inputs: Tensor, backward_inputs: Tensor, padding_mask: Tensor) -> Tensor:
        """Run both directions.

        Args:
            inputs: what the forward direction reads, ``(B, S, input_size)``, left-padded.
            backward_inputs: what the backward direction reads, in the same order.
            padding_mask: True where padded, ``(B, S)``.
        Returns:
            The states of both, joined, ``(B, S, 2H)``, zero where padded.
        """
        reverse = reversal(padding_mask)
        read = (inputs, take_positions(backward_inputs, reverse))
        units = (self.forwards, self.backwards)
        from_inputs = torch.stack(
            [_from_inputs(unit, x, padding_mask) for unit, x in zip(units, read, strict=True)]
        )  # (2, B, S, 3H)
        step = gated_step(torch.stack([unit.recurrent for unit in units]))
        size = self.forwards.recurrent.size(-1)
        state = from_inputs.new_zeros(2, len(inputs), size)
        made = []
        for from_input in from_inputs.unbind(2):
            state = step(from_input, state)
            made.append(state)
        forwards, backwards = torch.stack(made, dim=2)  # (B, S, H) each
        return torch.cat([forwards, take_positions(backwards, reverse)], dim=-1)


def _from_inputs(unit: GatedUnit, inputs: Tensor, padding_mask: Tensor) -> Tensor:
    """What the inputs add to gates and candidate, ``(B, S, 3H)``; padding shuts the update gate."""
    size = unit.recurrent.size(-1)
    gate_of_padding = inputs.new_zeros(3 * size, 1)
    gate_of_padding[size : 2 * size] = SHUT
    flagged = torch.cat([inputs, padding_mask.unsqueeze(-1).to(inputs)], dim=-1)
    weight = torch.cat([unit.input.weight, gate_of_padding], dim=1)
    return F.linear(flagged, weight, unit.input.bias)
