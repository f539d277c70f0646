"""Vectors of subword units."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.compositions.units import PADDING


class UnitEmbedding(nn.Module):
    """A vector for every unit; padding, id 0, is zero and has no parameters.

    Args:
        num_units: number of units; their ids start at 1.
        size: ``d``.
    """

    def __init__(self, num_units: int, size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_units, size))
        nn.init.normal_(self.weight, std=size**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """``(*ids.shape) -> (*ids.shape, d)``."""
        return F.embedding(ids, self.with_padding(), padding_idx=PADDING)

    def sum(self, ids: Tensor) -> Tensor:
        """The sum of each word's units, ``(N, L) -> (N, d)``."""
        return F.embedding_bag(ids, self.with_padding(), mode="sum", padding_idx=PADDING)

    def with_padding(self) -> Tensor:
        """The vectors by id, ``(num_units + 1, d)``."""
        return F.pad(self.weight, (0, 0, 1, 0))
