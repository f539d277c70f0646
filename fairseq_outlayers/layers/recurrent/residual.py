"""Residual connections of deep recurrent stacks."""

from torch import Tensor

FIRST_RESIDUAL = 2  # layers from the third on add their input to their output


def add_residual(below: Tensor, output: Tensor, depth: int) -> Tensor:
    """The output of the layer at ``depth`` (from 0), plus its input from the third layer on."""
    return below + output if depth >= FIRST_RESIDUAL else output
