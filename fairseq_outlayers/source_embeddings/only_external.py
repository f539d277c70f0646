"""Mapped external vectors only."""

from typing import Any

from torch import Tensor

from fairseq_outlayers.source_embeddings.external_map import (
    ExternalConfig,
    ExternalMap,
    ExternalSourceEmbedding,
    Mapped,
)


class OnlyExternalEmbedding(ExternalSourceEmbedding):
    """Mapped external vectors, no internal embeddings (Di Gangi & Federico 2017).

    Args:
        external: looks up vectors and maps them.
    """

    Config = ExternalConfig

    def __init__(self, external: ExternalMap):
        super().__init__()
        self.external = external

    @classmethod
    def build(
        cls, config: Any, dictionary: Any, embed_dim: int, bidirectional: bool
    ) -> "OnlyExternalEmbedding":
        return cls(ExternalMap.build(config, dictionary, embed_dim, bidirectional))

    def combine(self, ids: Tensor, found: Mapped) -> Tensor:
        return found.mapped
