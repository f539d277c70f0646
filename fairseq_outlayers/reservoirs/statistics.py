"""Progress of the frozen layers, in fairseq's log."""

from typing import Dict, Tuple

import torch
from fairseq.logging import metrics
from torch import Tensor

from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer
from fairseq_outlayers.reservoirs.frozen_layer import FrozenLayer

SAMPLE = 4  # sentences of each batch that saturation is measured on
SATURATED = 0.99


def log_dynamics(
    side: str, outputs: Dict[str, Tuple[RecurrentLayer, Tensor]], real: Tensor
) -> None:
    """Log radius, gamma and saturation of the frozen layers through ``fairseq.logging.metrics``.

    So they show in the progress log and its JSON, in TensorBoard and in Weights & Biases:
    ``radius_encoder_forward_0``, ``gamma_...``, ``saturation_...``. Saturation is the share of
    units with ``|h| > 0.99`` at real positions. Scales of gates are averaged.

    Args:
        side: "encoder" or "decoder".
        outputs: layer and states ``(T, B, H)`` by the layer's name; trained layers are passed over.
        real: False where padded, ``(T, B)``.
    """
    names, values = [], []
    sample = real[:, :SAMPLE]
    for name, (layer, states) in outputs.items():
        if isinstance(layer, FrozenLayer):
            saturated = states.detach()[:, :SAMPLE][sample].abs() > SATURATED
            values += [layer.radius.value.detach().abs(), layer.gamma.value.detach(), saturated]
            names += [f"{figure}_{side}_{name}" for figure in ("radius", "gamma", "saturation")]
    if names:
        means = torch.stack([value.float().mean() for value in values]).tolist()  # one transfer
        for name, mean in zip(names, means, strict=True):
            metrics.log_scalar(name, mean, priority=2000, round=3)
