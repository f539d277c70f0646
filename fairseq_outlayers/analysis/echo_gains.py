"""The gain of a frozen layer by the standard deviation of its inputs, at initialization."""

from typing import Any, Dict, Iterator, NamedTuple, Tuple, Type

import torch
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models.esnmt import EchoStateModel
from fairseq_outlayers.reservoirs.frozen_layer import FrozenLayer
from fairseq_outlayers.reservoirs.options import check_echo_options, make_reservoir
from fairseq_outlayers.reservoirs.statistics import SATURATED

DEVIATIONS = (0.01, 0.05, 0.1, 0.2, 0.5, 0.84, 1.0)


class EchoGain(NamedTuple):
    """Gain and saturation of one layer for inputs of one standard deviation."""

    gain: float  # standard deviation of the states over that of the inputs
    saturated: float  # share of units with |h| > 0.99


def frozen_models() -> Dict[str, Type[EchoStateModel]]:
    """Registered models with frozen recurrent layers, by architecture; no named sizes of others."""
    return {
        name: model
        for name, model in MODEL_REGISTRY.items()
        if issubclass(model, EchoStateModel) and "is_named_size" not in vars(model)
    }


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


def gains(architecture: str, **options: Any) -> Iterator[Tuple[float, EchoGain]]:
    """Standard deviations of the inputs, and the gain of a layer of the encoder for each.

    Args:
        architecture: in ``frozen_models()``.
        options: hidden_size, echo_start, gamma_init and radius_init of the model.
    Raises:
        UserError: if there is no such architecture, or a scale is out of its range.
    """
    models = frozen_models()
    if architecture not in models:
        known = ", ".join(models)
        raise UserError(f"--arch {architecture}: has no frozen recurrent layers; choose {known}")
    model = models[architecture]
    cfg = MODEL_DATACLASS_REGISTRY[architecture](**options)
    check_echo_options(cfg)
    reservoir = make_reservoir(cfg, model.kind, "encoder.layers.1.forward", 2 * cfg.hidden_size)
    layer = model.frozen_layer(cfg, reservoir)
    for deviation in DEVIATIONS:
        yield deviation, output_gain(layer, deviation)
