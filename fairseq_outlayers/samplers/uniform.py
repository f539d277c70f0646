"""Uniform sampling."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.samplers.base import ClassSample, Sampler


class UniformSampler(Sampler):
    """Draws classes uniformly, without replacement.

    Args:
        num_classes: ``V``.
        num_sampled: number of classes to draw.
    Raises:
        UserError: if there are fewer classes than that.
    """

    def __init__(self, num_classes: int, num_sampled: int):
        super().__init__(num_classes, num_sampled)
        if num_sampled > num_classes:
            raise UserError(
                f"num_sampled={num_sampled}: only {num_classes} classes can be drawn without "
                "replacement"
            )

    @classmethod
    def build(cls, config: Any, dictionary: Any, num_sampled: int) -> "UniformSampler":
        return cls(len(dictionary), num_sampled)

    def sample(self, targets: Tensor, generator: np.random.Generator) -> ClassSample:
        ids = distinct(self.num_classes, self.num_sampled, generator).to(
            targets.device, non_blocking=True
        )
        log_share = math.log(self.num_sampled / self.num_classes) if self.num_sampled else 0.0
        return ClassSample(ids, log_counts(ids, log_share))


def distinct(num_classes: int, num_drawn: int, generator: np.random.Generator) -> Tensor:
    """``(num_drawn,)`` distinct ids below ``num_classes``, ascending, uniform over all sets."""
    drawn = generator.choice(num_classes, num_drawn, replace=False, shuffle=False)
    return torch.from_numpy(np.sort(drawn))


def log_counts(like: Tensor, value: float) -> Tensor:
    """``value`` for every id, in float64."""
    return torch.full_like(like, value, dtype=torch.float64)
