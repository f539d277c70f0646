"""Concatenated syllables."""

from dataclasses import dataclass
from typing import Any, List, NamedTuple, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.compositions.base import Composition, Parts
from fairseq_outlayers.compositions.unit_embedding import UnitEmbedding
from fairseq_outlayers.compositions.units import PADDING, WordUnits
from fairseq_outlayers.ranges import optional_width


class PlacedUnits(NamedTuple):
    """The units at every place of ``N`` words.

    Attributes:
        units: of the first place, then of the second, and so on, ``(n,)``.
        sizes: how many ``units`` each place has.
        members: row numbers of ``units``, word by word.
        starts: offset of each word in ``members``, ``(N,)``; None if those are ``(N, L)``.
    """

    units: Tensor
    sizes: List[int]
    members: Tensor
    starts: Optional[Tensor]


def all_places(ids: Tensor) -> PlacedUnits:
    """As :func:`distinct_places`, without removing duplicates; for batches on accelerators.

    Counting distinct units would synchronize with the device, which costs more than they do.
    """
    words = torch.arange(len(ids), device=ids.device).unsqueeze(1)
    places = torch.arange(ids.size(1), device=ids.device)
    sizes = [len(ids)] * ids.size(1)
    return PlacedUnits(ids.t().flatten(), sizes, words + places * len(ids), None)


def distinct_places(ids: Tensor, num_units: int) -> PlacedUnits:
    """The distinct units at each place of words.

    Args:
        ids: the units of words, ``(N, L)``, padded with ``PADDING``.
        num_units: the largest of all ids.
    """
    is_unit, base = ids.ne(PADDING), num_units + 1
    codes = ids + base * torch.arange(ids.size(1), device=ids.device)
    distinct, members = codes[is_unit].unique(return_inverse=True)
    sizes = torch.bincount(distinct // base, minlength=ids.size(1)).tolist()
    lengths = is_unit.sum(1)
    starts = lengths.cumsum(0) - lengths
    return PlacedUnits(distinct % base, sizes, members, starts)


class SylConcat(Composition):
    """A projection of a word's concatenated syllables, padded with zeros.

    The projection of a concatenation is a sum over places, ``P_1 s_1 + P_2 s_2 + ...``, and words
    share its terms: the 10,002 words of the Penn Treebank have 20,862 syllables, but only 7,849
    different ones by place, so these are projected instead of 10,002 rows of the longest word.
    """

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

    def prepare(self, ids: Tensor) -> PlacedUnits:
        return all_places(ids) if ids.device.type != "cpu" else self.prepare_all(ids)

    def prepare_all(self, ids: Tensor) -> PlacedUnits:
        return distinct_places(ids, self.num_units)

    def combine(self, parts: Parts, prepared: PlacedUnits) -> Tensor:
        vectors = parts["emb"](prepared.units)
        kernels = parts["proj"].weight.split(self.unit_size, dim=1)
        # Under autocast products have a lower precision than their sums.
        projected = [
            F.linear(of_place, kernel).to(vectors.dtype)
            for of_place, kernel in zip(vectors.split(prepared.sizes), kernels, strict=False)
        ]
        return F.embedding_bag(prepared.members, torch.cat(projected), prepared.starts, mode="sum")
