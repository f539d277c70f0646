"""Sums of morphs."""

from typing import Any

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.compositions.base import Composition, Parts
from fairseq_outlayers.compositions.unit_embedding import UnitEmbedding
from fairseq_outlayers.compositions.units import WordUnits


class MorphSum(Composition):
    """The sum of a word's morphs, without the word itself, unlike Botha & Blunsom (2014)."""

    kind = "morphs"
    parts = ("emb",)

    def __init__(self, num_units: int, size: int):
        self.num_units, self.output_size = num_units, size

    @classmethod
    def build(cls, config: Any, units: WordUnits, hidden_size: int) -> "MorphSum":
        return cls(units.num_units, config.unit_dim or hidden_size)

    def build_part(self, name: str) -> nn.Module:
        return UnitEmbedding(self.num_units, self.output_size)

    def combine(self, parts: Parts, prepared: Tensor) -> Tensor:
        return parts["emb"].sum(prepared)
