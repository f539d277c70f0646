"""The gated unit of Cho et al. (2014) and Bahdanau et al. (2015)."""

from typing import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.layers.padding import flag_padding, reversal, take_positions
from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear

# Closes the update gate to exactly 0 in every floating-point type, so the state does not change.
CLOSED = -1e4


class GatedUnit(nn.Module):
    """``h' = (1 - z) * h + z * tanh(W x + U (r * h) + b)`` (Bahdanau et al. 2015, App. A.1).

    The gates ``r`` and ``z`` are sigmoids of ``W x + U h + b``. ``torch.nn.GRU`` applies ``r`` to
    ``U h``, which is another function, so neither PyTorch's nor cuDNN's kernel applies and the
    recurrence is a loop. (Its ``z`` also has the opposite sign.)

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
    """The step of gated units: ``(W x + b, state) -> state``, with ``W x`` for r, z and candidate.

    Make a new one for each forward pass.

    Args:
        recurrent: ``U``, ``(3H, H)``, or ``(K, 3H, H)`` for ``K`` parallel units.
    Returns:
        ``(B, 3H), (B, H) -> (B, H)``, or ``(K, B, 3H), (K, B, H) -> (K, B, H)``.
    """
    size = recurrent.size(-1)
    # The candidate depends on r, so there are two products per step.
    to_gates, to_candidate = map(StepwiseLinear, recurrent.split([2 * size, size], dim=-2))

    def step(from_input: Tensor, state: Tensor) -> Tensor:
        input_gates, input_candidate = from_input.split([2 * size, size], dim=-1)
        reset, update = torch.sigmoid(input_gates + to_gates(state)).chunk(2, dim=-1)
        candidate = torch.tanh(input_candidate + to_candidate(reset * state))
        return state + update * (candidate - state)

    return step


class BidirectionalGatedUnits(nn.Module):
    """Gated units in both directions, with states exactly zero until the first real token.

    An extra input, 1 where padded and 0 elsewhere, closes the update gate, so a batch needs neither
    packing nor a mask. Input products are computed for whole sentences. Both directions share the
    loop: a step has two batched products, and the gradient of each recurrent matrix is one product
    instead of one per step.

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
            inputs: of the forward direction, ``(B, S, input_size)``, left-padded.
            backward_inputs: of the backward direction, in the same order.
            padding_mask: True where padded, ``(B, S)``.
        Returns:
            Concatenated states of both, ``(B, S, 2H)``, zero where padded.
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
    """Input part of gates and candidate, ``(B, S, 3H)``; padding closes the update gate."""
    size = unit.recurrent.size(-1)
    gate_of_padding = inputs.new_zeros(3 * size, 1)
    gate_of_padding[size : 2 * size] = CLOSED
    flagged = flag_padding(inputs, padding_mask)
    weight = torch.cat([unit.input.weight, gate_of_padding], dim=1)
    return F.linear(flagged, weight, unit.input.bias)
