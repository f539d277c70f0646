"""The interface of a source embedding: vectors of source words for an encoder."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.initialization import OwnStart, Start
from fairseq_outlayers.ranges import ranged


class SourceEmbedding(OwnStart, ABC):
    """Vectors ``(B, S, d)`` of source words ``(B, S)``, zero where padded.

    An encoder that reads in two directions asks once for each, unless ``directions_differ`` is
    false: then both read the same vectors.
    """

    directions_differ = False

    @dataclass
    class Config:
        internal_vocabulary: int = ranged(
            0,
            "the first so many symbols of the source dictionary have embeddings of the "
            "model's own, all others that of unknown words; 0: those that the dictionary "
            "counts at least once",
            at_least=0,
        )

    @classmethod
    @abstractmethod
    def build(
        cls, config: Any, dictionary: Any, embed_dim: int, bidirectional: bool
    ) -> "SourceEmbedding":
        """Make the embedding from the options of its ``Config``.

        Args:
            config: anything that has the fields of ``cls.Config`` as attributes.
            dictionary: the source dictionary.
            embed_dim: ``d``.
            bidirectional: whether the encoder reads in two directions.
        Raises:
            UserError: if an option is wrong, missing, or of no use.
        """

    @abstractmethod
    def forward(self, ids: Tensor, direction: int = 0) -> Tensor:
        """``(B, S) -> (B, S, d)`` for the direction 0 (forwards) or 1 (backwards)."""

    def reset_parameters(self, start: Start) -> None:
        """Give the parameters their start, and padding the vector zero; every model calls this.

        The modules inside start like the rest of the model; parameters that a subclass makes keep
        the values that it gave them, unless it overrides this.

        Args:
            start: how the rest of the model starts.
        """
        super().reset_parameters(start)
        self.zero_padding()

    def zero_padding(self) -> None:
        """Set the vector of padding to zero."""
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.zeros_(module.weight[module.padding_idx].detach())
