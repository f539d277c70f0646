"""Concatenated syllables."""

from dataclasses import dataclass
from typing import Any

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.compositions.base import Composition, Parts
from fairseq_outlayers.compositions.unit_embedding import UnitEmbedding
from fairseq_outlayers.compositions.units import WordUnits
from fairseq_outlayers.ranges import optional_width


class SylConcat(Composition):
    """A projection of a word's concatenated syllables, padded with zeros."""

    @dataclass
    class Config(Composition.Config):
        highway_dim: int = optional_width(
            0, "size of word vectors with sylconcat; 0: that of the decoder states"
        )

    kind = "syllables"
    parts = ("emb", "proj")
    most_units: int

    def __init__(self, num_units: int, longest: int, unit_size: int, size: int):
        self.num_units, self.most_units = num_units, longest
        self.unit_size, self.output_size = unit_size, size

    @classmethod
    def build(cls, config: Any, units: WordUnits, hidden_size: int) -> "SylConcat":
        size = config.highway_dim or hidden_size
        return cls(units.num_units, units.longest, config.unit_dim or 50, size)

    def build_part(self, name: str) -> nn.Module:
        if name == "emb":
            return UnitEmbedding(self.num_units, self.unit_size)
        projection = nn.Linear(self.most_units * self.unit_size, self.output_size, bias=False)
        # Most words have two or three syllables; the rest of the input is zero.
        nn.init.normal_(projection.weight, std=(2.5 * self.unit_size) ** -0.5)
        return projection

    def combine(self, parts: Parts, prepared: Tensor) -> Tensor:
        return parts["proj"](parts["emb"](prepared).flatten(1))
