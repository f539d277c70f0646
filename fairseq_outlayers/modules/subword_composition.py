"""Vectors of words composed from those of their characters, syllables or morphs.

A composition is a way to compute and a list of parts; the parts are built apart from it, so that
the input and the output of a model can share all, some or none of them (Assylbekov & Takhanov
2018). To add one: a class here, and its line in ``COMPOSITIONS``.

Sizes: ``N`` words of up to ``L`` units, ``d`` the size of a unit's vector, ``D`` of a word's.
"""

from abc import ABC, abstractmethod
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.modules.highway import Highway
from fairseq_outlayers.modules.subword_units import PADDING, WordUnits

Parts = Mapping[str, Any]
HIGHWAYS = ("hw1", "hw2")
MOST_FILTERS = 200  # of one width (Kim et al. 2016)


class UnitEmbedding(nn.Module):
    """A vector for every unit; padding, id 0, is exactly zero and no parameter.

    Args:
        num_units: units are numbered from 1.
        size: ``d``.
    """

    def __init__(self, num_units: int, size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_units, size))
        nn.init.normal_(self.weight, std=size**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """``(N, L) -> (N, L, d)``."""
        return F.embedding(ids, self._with_padding(), padding_idx=PADDING)

    def sum(self, ids: Tensor) -> Tensor:
        """The sum of each word's units, ``(N, L) -> (N, d)``."""
        return F.embedding_bag(ids, self._with_padding(), mode="sum", padding_idx=PADDING)

    def _with_padding(self) -> Tensor:
        return F.pad(self.weight, (0, 0, 1, 0))


class CharacterConvolutions(nn.Module):
    """``max over positions of tanh(K_w * c + k_w)``, several widths ``w`` (Kim et al. 2016).

    Args:
        size: ``d``, of a character's vector.
        filters: how many filters of width 1, 2, ...
        masks_padding: leave out windows that reach beyond the word, but for its first; without,
            as in the paper, padding takes part in the maximum.
    """

    def __init__(self, size: int, filters: Sequence[int], masks_padding: bool = False):
        super().__init__()
        self.masks_padding = masks_padding
        self.convolutions = nn.ModuleList(
            nn.Conv1d(size, number, width) for width, number in enumerate(filters, start=1)
        )

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Filter responses, ``(N, L, d)`` with word lengths ``(N,)`` to ``(N, sum of filters)``."""
        missing = len(self.convolutions) - vectors.size(1)
        characters = F.pad(vectors.transpose(1, 2), (0, max(0, missing)))
        responses = []
        for width, convolution in enumerate(self.convolutions, start=1):
            response = convolution(characters)  # (N, filters, windows)
            if self.masks_padding:
                window = torch.arange(response.size(2), device=lengths.device)
                beyond = window > (lengths - width).clamp(min=0).unsqueeze(1)
                response = response.masked_fill(beyond.unsqueeze(1), float("-inf"))
            # tanh is monotone: one for each filter instead of one for each window.
            responses.append(torch.tanh(response.amax(dim=2)))
        return torch.cat(responses, dim=1)


class Composition(ABC):
    """Composes vectors of words from parts that it is given; owns no parameters.

    Attributes:
        kind: which units it is made for.
        parts: names of its parts, from the units upwards; highway layers follow.
        output_size: ``D``.
        most_units: that a word may have; None for any number.
    """

    kind: str
    parts: Sequence[str]
    output_size: int
    most_units: Optional[int] = None

    @classmethod
    @abstractmethod
    def build(cls, config: Any, units: WordUnits, hidden_size: int) -> "Composition":
        """Choose the sizes; 0 in the configuration stands for the paper's.

        Args:
            config: has the fields of ``SubwordOutputLayer.Config``.
            units: of the dictionary's words.
            hidden_size: of the states that meet the classes.
        """

    @abstractmethod
    def build_part(self, name: str) -> nn.Module:
        """A new part; for the names in ``parts``."""

    @abstractmethod
    def combine(self, parts: Parts, ids: Tensor) -> Tensor:
        """``(N, L) -> (N, D)``, before the highway layers."""

    def all_parts(self) -> List[str]:
        """Names of all layers, bottom-up: what ``--tie`` can name."""
        return [*self.parts, *HIGHWAYS]

    def build_parts(self, names: Sequence[str]) -> Dict[str, nn.Module]:
        """New layers of the names given."""
        return {
            name: Highway(self.output_size) if name in HIGHWAYS else self.build_part(name)
            for name in names
        }

    def compose(self, parts: Parts, ids: Tensor) -> Tensor:
        """``HW2(HW1(combined units))``, ``(N, L) -> (N, D)``."""
        return parts["hw2"](parts["hw1"](self.combine(parts, ids)))


class MorphSum(Composition):
    """The sum of a word's morphs; unlike in Botha & Blunsom (2014) the word itself is not added."""

    kind = "morphs"
    parts = ("emb",)

    def __init__(self, num_units: int, size: int):
        self.num_units, self.output_size = num_units, size

    @classmethod
    def build(cls, config: Any, units: WordUnits, hidden_size: int) -> "MorphSum":
        return cls(units.num_units, config.unit_dim or hidden_size)

    def build_part(self, name: str) -> nn.Module:
        return UnitEmbedding(self.num_units, self.output_size)

    def combine(self, parts: Parts, ids: Tensor) -> Tensor:
        return parts["emb"].sum(ids)


class SylConcat(Composition):
    """A projection of a word's syllables, set side by side and filled up with zeros."""

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
        # Two or three syllables are there, the rest is zero.
        nn.init.normal_(projection.weight, std=(2.5 * self.unit_size) ** -0.5)
        return projection

    def combine(self, parts: Parts, ids: Tensor) -> Tensor:
        return parts["proj"](parts["emb"](ids).flatten(1))


class CharCNN(Composition):
    """Convolutions over a word's characters (Kim et al. 2016)."""

    kind = "characters"
    parts = ("emb", "cnn")

    def __init__(self, num_units: int, unit_size: int, filters: Sequence[int], masks_padding: bool):
        self.num_units, self.unit_size, self.filters = num_units, unit_size, filters
        self.masks_padding, self.output_size = masks_padding, sum(filters)

    @classmethod
    def build(cls, config: Any, units: WordUnits, hidden_size: int) -> "CharCNN":
        widths = range(1, config.char_widths + 1)
        filters = [min(MOST_FILTERS, config.char_filters * width) for width in widths]
        return cls(units.num_units, config.unit_dim or 15, filters, config.mask_char_padding)

    def build_part(self, name: str) -> nn.Module:
        if name == "emb":
            return UnitEmbedding(self.num_units, self.unit_size)
        return CharacterConvolutions(self.unit_size, self.filters, self.masks_padding)

    def combine(self, parts: Parts, ids: Tensor) -> Tensor:
        return parts["cnn"](parts["emb"](ids), ids.ne(PADDING).sum(1))


COMPOSITIONS: Dict[str, Type[Composition]] = {
    "charcnn": CharCNN,
    "sylconcat": SylConcat,
    "morphsum": MorphSum,
}
