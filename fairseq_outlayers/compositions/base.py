"""The interface of compositions: word vectors from vectors of subword units.

A composition is a function and a list of layers. The layers are built separately, so that the input
and the output of a model can share all, some or none of them (Assylbekov & Takhanov 2018).

Sizes: ``N`` words of up to ``L`` units, unit vectors of size ``d``, word vectors of size ``D``.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.compositions.units import WordUnits
from fairseq_outlayers.layers.highway import Highway
from fairseq_outlayers.ranges import optional_width

Parts = Mapping[str, Any]
HIGHWAYS = ("hw1", "hw2")


class Composition(ABC):
    """Composes word vectors with layers passed to it; owns no parameters.

    Attributes:
        kind: of units: "characters", "syllables", "morphs", or one of your own: its table is
            ``KIND.txt`` beside the dictionary (docs/formats.md).
        parts: names of its layers, bottom-up; highway layers follow.
        output_size: ``D``.
        most_units: the maximal number of units of a word; None for any.
    """

    @dataclass
    class Config:
        unit_dim: int = optional_width(
            0,
            "size of unit vectors; 0: 15 for characters, 50 for syllables, that of the decoder "
            "states for morphs",
        )

    kind: str
    parts: Sequence[str]
    output_size: int
    most_units: Optional[int] = None

    @classmethod
    @abstractmethod
    def build(cls, config: Any, units: WordUnits, hidden_size: int) -> "Composition":
        """Build with sizes from the options; 0 means the paper's size.

        Args:
            config: has the fields of ``cls.Config`` as attributes.
            units: of the dictionary's words.
            hidden_size: of the decoder states.
        """

    @abstractmethod
    def build_part(self, name: str) -> nn.Module:
        """Build one layer of ``parts``."""

    def prepare(self, ids: Tensor) -> Any:
        """Compute what depends on the units only; it can be cached.

        Args:
            ids: of the units, ``(N, L)``.
        Returns:
            The argument of ``combine``, by default the ids.
        """
        return ids

    def prepare_all(self, ids: Tensor) -> Any:
        """``prepare`` for a whole dictionary, cached over batches."""
        return self.prepare(ids)

    @abstractmethod
    def combine(self, parts: Parts, prepared: Any) -> Tensor:
        """Vectors before the highway layers, ``(N, D)``, of the words given to ``prepare``."""

    def all_parts(self) -> List[str]:
        """Names of all layers, bottom-up; ``--tie`` accepts them."""
        return [*self.parts, *HIGHWAYS]

    def build_parts(self, names: Sequence[str]) -> Dict[str, nn.Module]:
        """New layers by name."""
        return {
            name: Highway(self.output_size) if name in HIGHWAYS else self.build_part(name)
            for name in names
        }

    def compose(self, parts: Parts, prepared: Any) -> Tensor:
        """``HW2(HW1(combined units))``, ``(N, D)``, of the words given to ``prepare``."""
        combined = self.combine(parts, prepared)
        if not torch.jit.is_tracing() and combined.size(-1) != self.output_size:
            raise ValueError(
                f"{type(self).__name__}.combine made vectors of {combined.size(-1)} dimensions, "
                f"its output_size is {self.output_size}"
            )
        return parts["hw2"](parts["hw1"](combined))
