"""Convolutions over characters."""

from dataclasses import dataclass, field
from typing import Any, List, Sequence

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.compositions.base import Composition, Parts
from fairseq_outlayers.compositions.character_windows import Windows, all_windows, distinct_windows
from fairseq_outlayers.compositions.unit_embedding import UnitEmbedding
from fairseq_outlayers.compositions.units import WordUnits
from fairseq_outlayers.ranges import depth

MOST_FILTERS = 200  # of one width (Kim et al. 2016)


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
            windows: of the words, one item for each width.
        """
        convolutions: Any = self.convolutions
        maxima = []
        for convolution, (units, members, starts) in zip(convolutions, windows, strict=True):
            kernel = convolution.weight.transpose(1, 2).flatten(1)
            responses = F.linear(F.embedding(units, vectors).flatten(1), kernel, convolution.bias)
            maxima.append(F.embedding_bag(members, responses, starts, mode="max"))
        # tanh is monotone, so it can follow the maximum: fewer evaluations.
        return torch.tanh(torch.cat(maxima, dim=1))


class CharCNN(Composition):
    """Convolutions over a word's characters (Kim et al. 2016).

    With ``masks_padding``, windows that reach beyond a word are left out, except its first;
    without, as in the authors' code, padding takes part in the maximum.
    """

    @dataclass
    class Config(Composition.Config):
        char_widths: int = depth(6, "charcnn has filters of width 1 to this")
        char_filters: int = depth(
            25, "charcnn has this many filters times their width, at most 200"
        )
        mask_char_padding: bool = field(
            default=False,
            metadata={"help": "exclude the padding after a word's characters from the maximum"},
        )

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
        if ids.device.type != "cpu":
            return all_windows(ids, len(self.filters), self.masks_padding)
        return self.prepare_all(ids)

    def prepare_all(self, ids: Tensor) -> List[Windows]:
        return distinct_windows(ids, len(self.filters), self.masks_padding)

    def combine(self, parts: Parts, prepared: List[Windows]) -> Tensor:
        return parts["cnn"](parts["emb"].with_padding(), prepared)
