"""The interface of source embeddings: vectors of source words for an encoder."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Iterator

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.initialization import Initializer, SelfInitialized
from fairseq_outlayers.layers.random_state import forked_rng
from fairseq_outlayers.tables.table import TableOwner


class SourceEmbedding(TableOwner, SelfInitialized, ABC):
    """Vectors ``(B, S, d)`` of source words ``(B, S)``, zero where padded.

    A bidirectional encoder calls :meth:`both_directions` if ``directions_differ``; else both
    directions share the vectors.
    """

    directions_differ = False

    @dataclass
    class Config:
        pass

    @classmethod
    @abstractmethod
    def build(
        cls, config: Any, dictionary: Any, embed_dim: int, bidirectional: bool
    ) -> "SourceEmbedding":
        """Build the embedding from the options of its ``Config``.

        Args:
            config: has the fields of ``cls.Config`` as attributes.
            dictionary: the source dictionary.
            embed_dim: ``d``.
            bidirectional: whether the encoder reads in two directions.
        Raises:
            UserError: if an option is invalid, missing, or without effect.
        """

    @abstractmethod
    def forward(self, ids: Tensor, direction: int = 0) -> Tensor:
        """``(B, S) -> (B, S, d)`` for the direction 0 (forwards) or 1 (backwards)."""

    def both_directions(self, ids: Tensor) -> Iterator[Tensor]:
        """``forward`` of the direction 0, then of 1; override it to compute once what they share.

        Lazily, so that dropout on the vectors of a direction draws before that of the next.
        """
        yield self(ids)
        yield self(ids, direction=1)

    def reset_parameters(self, initializer: Initializer) -> None:
        """Initialize the parameters, and the vector of padding to zero; every model calls this.

        Submodules are initialized like the rest of the model; parameters of a subclass keep their
        values, unless it overrides this.

        Args:
            initializer: the initialization of the rest of the model.
        """
        super().reset_parameters(initializer)
        self.zero_padding()

    def zero_padding(self) -> None:
        """Set the vector of padding to zero, in every ``nn.Embedding`` that has a padding index."""
        for module in self.modules():
            if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                nn.init.zeros_(module.weight[module.padding_idx].detach())

    @torch.no_grad()
    def check_shapes(self, embed_dim: int) -> None:
        """Refuse an embedding that returns other shapes than this interface says.

        Args:
            embed_dim: ``d``.
        Raises:
            UserError: with the shapes.
        """
        device = next((each.device for each in self.parameters()), torch.device("cpu"))
        ids = torch.tensor([[0, 1, 2]], device=device)
        expected = (*ids.shape, embed_dim)
        with forked_rng(device):  # layers may have dropout
            found = self.both_directions(ids) if self.directions_differ else [self(ids)]
            for vectors in found:
                if vectors.shape != expected:
                    raise UserError(
                        f"{type(self).__name__} returns {tuple(vectors.shape)} for ids "
                        f"{tuple(ids.shape)}: must be {expected}, vectors of --encoder-embed-dim "
                        "or --embed-dim dimensions"
                    )
