"""The gain of a frozen layer, measured at initialization."""

from typing import NamedTuple

import torch

from fairseq_outlayers.reservoirs.frozen_layer import FrozenLayer

SATURATED = 0.99


class EchoGain(NamedTuple):
    """Gain and saturation of one layer for inputs of one standard deviation."""

    gain: float  # standard deviation of the states over that of the inputs
    saturated: float  # share of units with |h| > 0.99


@torch.no_grad()
def output_gain(
    layer: FrozenLayer, deviation: float, batch: int = 32, length: int = 30, settling: int = 10
) -> EchoGain:
    """The standard deviation of a layer's states over that of its inputs.

    1 preserves the variance from layer to layer. Measured at the output, because gates and tanh
    shrink pre-activations.

    Args:
        layer: with its scales.
        deviation: of the inputs, which are independent and normal.
        batch: number of sequences.
        length: of each.
        settling: number of first positions to skip, because the state starts at zero.
    """
    generator = torch.Generator().manual_seed(1)
    like = layer.reservoir.input
    inputs = torch.randn(length, batch, layer.input_size, generator=generator).to(like)
    states = layer(inputs * deviation)[0][settling:]
    saturated = (states.abs() > SATURATED).float().mean()
    return EchoGain((states.std() / deviation).item(), saturated.item())
