"""Statistics of the frozen layers in fairseq's log."""

from typing import Any, Dict, Tuple

import torch
import torch.nn as nn
from fairseq.logging import metrics
from torch import Tensor

from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer
from fairseq_outlayers.reservoirs.frozen_layer import FrozenLayer

SAMPLE = 4  # sentences per batch to measure saturation on
SATURATED = 0.99


class Dynamics(nn.Module):
    """Logs radius, gamma and saturation of the frozen layers through ``fairseq.logging.metrics``.

    They appear in the progress log and its JSON, in TensorBoard and in Weights & Biases:
    ``radius_encoder_forward_0``, ``gamma_...``, ``saturation_...``. Saturation is the share of
    units with ``|h| > 0.99`` at real positions. Scales of gates are averaged.

    Reading them synchronizes with the device, so they are logged every ``interval`` updates, and in
    the first of each epoch.

    Attributes:
        interval: in updates, fairseq's ``--log-interval``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.interval = 100
        self._is_time = True

    def set_num_updates(self, num_updates: int) -> None:
        """fairseq calls this with the number of completed updates."""
        # The log counts the current update as completed.
        self._is_time = (num_updates + 1) % self.interval == 0

    def log(
        self, side: str, outputs: Dict[str, Tuple[RecurrentLayer, Tensor]], real: Tensor
    ) -> None:
        """Log the frozen layers of one side, if due.

        Args:
            side: "encoder" or "decoder".
            outputs: layer and states ``(T, B, H)`` by the layer's name; trained layers are skipped.
            real: False where padded, ``(T, B)``.
        """
        frozen: Dict[str, Tuple[Any, Tensor]] = {
            n: pair for n, pair in outputs.items() if isinstance(pair[0], FrozenLayer)
        }
        if not frozen or not (self._is_time or _is_first(f"radius_{side}_{next(iter(frozen))}")):
            return
        names, values = [], []
        sample = real[:, :SAMPLE].unsqueeze(-1)
        for name, (layer, states) in frozen.items():
            saturated = (states.detach()[:, :SAMPLE].abs() > SATURATED) & sample
            share = saturated.sum() / (sample.sum() * states.size(-1))
            values += [layer.radius.value.detach().abs(), layer.gamma.value.detach(), share]
            names += [f"{figure}_{side}_{name}" for figure in ("radius", "gamma", "saturation")]
        means = torch.stack([value.float().mean() for value in values]).tolist()
        for name, mean in zip(names, means, strict=True):
            metrics.log_scalar(name, mean, priority=2000, round=3)


def _is_first(name: str) -> bool:
    """Whether fairseq has not yet logged this in the epoch."""
    meter = metrics.get_meter("train", name)
    return meter is None or meter.count == 0


def set_interval(model: nn.Module, interval: int) -> None:
    """Log a model's dynamics every ``interval`` updates."""
    for module in model.modules():
        if isinstance(module, Dynamics):
            module.interval = max(interval, 1)
