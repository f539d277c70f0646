"""The interface of a composition: vectors of words from those of their subword units.

A composition is a way to compute and a list of parts; the parts are built apart from it, so that
the input and the output of a model can share all, some or none of them (Assylbekov & Takhanov
2018).

Sizes: ``N`` words of up to ``L`` units, ``d`` the size of a unit's vector, ``D`` of a word's.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.compositions.units import WordUnits
from fairseq_outlayers.layers.highway import Highway
from fairseq_outlayers.ranges import optional_width

Parts = Mapping[str, Any]
HIGHWAYS = ("hw1", "hw2")


class Composition(ABC):
    """Composes vectors of words from parts that it is given; owns no parameters.

    Attributes:
        kind: which units it is made for.
        parts: names of its parts, from the units upwards; highway layers follow.
        output_size: ``D``.
        most_units: that a word may have; None for any number.
    """

    @dataclass
    class Config:
        unit_dim: int = optional_width(
            0,
            "size of a unit's vector; 0: 15 for characters, 50 for syllables, that of "
            "the decoder states for morphs",
        )

    kind: str
    parts: Sequence[str]
    output_size: int
    most_units: Optional[int] = None

    @classmethod
    @abstractmethod
    def build(cls, config: Any, units: WordUnits, hidden_size: int) -> "Composition":
        """Choose the sizes; 0 in the configuration stands for the paper's.

        Args:
            config: anything that has the fields of ``cls.Config`` as attributes.
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

    def prepare_all(self, ids: Tensor) -> Any:
        """As ``prepare``, of the words of a whole dictionary, once for many batches."""
        return self.prepare(ids)

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
