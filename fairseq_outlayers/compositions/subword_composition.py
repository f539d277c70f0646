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

from fairseq_outlayers.compositions.character_windows import Windows, distinct_windows
from fairseq_outlayers.compositions.units import PADDING, WordUnits
from fairseq_outlayers.layers.highway import Highway

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
        return F.embedding(ids, self.with_padding(), padding_idx=PADDING)

    def sum(self, ids: Tensor) -> Tensor:
        """The sum of each word's units, ``(N, L) -> (N, d)``."""
        return F.embedding_bag(ids, self.with_padding(), mode="sum", padding_idx=PADDING)

    def with_padding(self) -> Tensor:
        """The vectors by id, ``(num_units + 1, d)``."""
        return F.pad(self.weight, (0, 0, 1, 0))


class CharacterConvolutions(nn.Module):
    """``max over positions of tanh(K_w * c + k_w)``, several widths ``w`` (Kim et al. 2016).

    Args:
        size: ``d``, of a character's vector.
        filters: how many filters of width 1, 2, ...
    """

    def __init__(self, size: int, filters: Sequence[int]):
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv1d(size, number, width) for width, number in enumerate(filters, start=1)
        )

    def forward(self, vectors: Tensor, windows: Sequence[Windows]) -> Tensor:
        """Filter responses of ``N`` words, ``(N, sum of filters)``.

        Args:
            vectors: of all units, ``(units + 1, d)``; that of padding is zero.
            windows: of the words, one item for each width. Each distinct one is looked at once.
        """
        convolutions: Any = self.convolutions
        maxima = []
        for convolution, (units, members, starts) in zip(convolutions, windows, strict=True):
            kernel = convolution.weight.transpose(1, 2).flatten(1)
            responses = F.linear(F.embedding(units, vectors).flatten(1), kernel, convolution.bias)
            maxima.append(F.embedding_bag(members, responses, starts, mode="max"))
        # tanh is monotone: one for each filter instead of one for each window.
        return torch.tanh(torch.cat(maxima, dim=1))


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

    def prepare(self, ids: Tensor) -> Any:
        """What is worked out of units once for words that are composed many times.

        Args:
            ids: of the units, ``(N, L)``.
        Returns:
            What ``combine`` takes: the ids themselves, unless a composition says otherwise.
        """
        return ids

    @abstractmethod
    def combine(self, parts: Parts, prepared: Any) -> Tensor:
        """Vectors before the highway layers, ``(N, D)``, of the words given to ``prepare``."""

    def all_parts(self) -> List[str]:
        """Names of all layers, bottom-up: what ``--tie`` can name."""
        return [*self.parts, *HIGHWAYS]

    def build_parts(self, names: Sequence[str]) -> Dict[str, nn.Module]:
        """New layers of the names given."""
        return {
            name: Highway(self.output_size) if name in HIGHWAYS else self.build_part(name)
            for name in names
        }

    def compose(self, parts: Parts, prepared: Any) -> Tensor:
        """``HW2(HW1(combined units))``, ``(N, D)``, of the words given to ``prepare``."""
        return parts["hw2"](parts["hw1"](self.combine(parts, prepared)))


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

    def combine(self, parts: Parts, prepared: Tensor) -> Tensor:
        return parts["emb"].sum(prepared)


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

    def combine(self, parts: Parts, prepared: Tensor) -> Tensor:
        return parts["proj"](parts["emb"](prepared).flatten(1))


class CharCNN(Composition):
    """Convolutions over a word's characters (Kim et al. 2016).

    With ``masks_padding`` windows that reach beyond a word are left out, but for its first;
    without, as in the paper, padding takes part in the maximum.
    """

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
        return CharacterConvolutions(self.unit_size, self.filters)

    def prepare(self, ids: Tensor) -> List[Windows]:
        return distinct_windows(ids, len(self.filters), self.masks_padding)

    def combine(self, parts: Parts, prepared: List[Windows]) -> Tensor:
        return parts["cnn"](parts["emb"].with_padding(), prepared)


COMPOSITIONS: Dict[str, Type[Composition]] = {
    "charcnn": CharCNN,
    "sylconcat": SylConcat,
    "morphsum": MorphSum,
}
