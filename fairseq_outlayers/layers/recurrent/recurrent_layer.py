"""Interface of unidirectional, time-first layers of a recurrent stack."""

from abc import ABC, abstractmethod
from typing import Callable, List, Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor

State = Tuple[Tensor, ...]  # (B, H) each; the first is the layer's output
# One time step: position in the inputs, further inputs (B, .) or None, state -> state.
Step = Callable[[int, Optional[Tensor], State], State]


class RecurrentLayer(nn.Module, ABC):
    """A recurrent layer that runs over a whole sequence or step by step.

    Args:
        input_size: ``D``.
        hidden_size: ``H``.
        state_size: number of tensors in its state.
    """

    def __init__(self, input_size: int, hidden_size: int, state_size: int):
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self.state_size = state_size

    def start(self, like: Tensor) -> State:
        """The initial state, zeros ``(B, H)``.

        Args:
            like: a tensor ``(..., B, .)`` that determines batch size, dtype and device.
        """
        return (like.new_zeros(like.size(-2), self.hidden_size),) * self.state_size

    @abstractmethod
    def reset_parameters(self, bound: float) -> None:
        """Initialize trained parameters; weights are uniform in ``[-bound, bound]``."""

    @abstractmethod
    def steps(self, inputs: Tensor) -> Step:
        """Prepare the steps of one sequence, with one input product for all steps.

        Args:
            inputs: ``(T, B, D')``, the first ``D'`` features of the layer's input; the others, if
                any, are passed to each step.
        """

    def forward(
        self,
        inputs: Tensor,
        state: Optional[State] = None,
        padding: Optional[Tensor] = None,
        reverse: bool = False,
    ) -> Tuple[Tensor, State]:
        """Run over a sequence.

        Args:
            inputs: ``(T, B, D)``, zero where padded.
            state: initial state; by default zeros.
            padding: True where padded, ``(T, B, 1)``, on the left; None if nowhere.
            reverse: run from the last position to the first.
        Returns:
            Outputs ``(T, B, H)`` in the order of the inputs, zero where padded; the final state.
        """
        step = self.steps(inputs)
        state = self.start(inputs) if state is None else state
        outputs: List[Tensor] = []
        for position in positions_in_order(len(inputs), reverse):
            state = step(position, None, state)
            if padding is not None:
                state = tuple(part.masked_fill(padding[position], 0.0) for part in state)
            outputs.append(state[0])
        return torch.stack(outputs[::-1] if reverse else outputs), state


def positions_in_order(length: int, reverse: bool) -> range:
    """The positions of a sequence in reading order."""
    return range(length - 1, -1, -1) if reverse else range(length)
