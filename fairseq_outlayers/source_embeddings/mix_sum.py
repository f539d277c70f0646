"""Internal embeddings plus mapped external vectors."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from fairseq_outlayers.source_embeddings.external_map import (
    ExternalConfig,
    ExternalMap,
    ExternalSourceEmbedding,
    Mapped,
)
from fairseq_outlayers.source_embeddings.internal import InternalConfig, InternalSourceEmbedding


@dataclass
class MixConfig(ExternalConfig, InternalConfig):
    pass


class MixSumEmbedding(ExternalSourceEmbedding):
    """``x + m``, the sum of both (Di Gangi & Federico 2017).

    Args:
        internal: internal embeddings ``x``.
        external: looks up vectors and maps them to ``m``.
    """

    Config = MixConfig

    def __init__(self, internal: InternalSourceEmbedding, external: ExternalMap):
        super().__init__()
        self.internal = internal
        self.external = external

    @classmethod
    def build(
        cls, config: Any, dictionary: Any, embed_dim: int, bidirectional: bool
    ) -> "MixSumEmbedding":
        return cls(
            InternalSourceEmbedding.build(config, dictionary, embed_dim, bidirectional),
            ExternalMap.build(config, dictionary, embed_dim, bidirectional),
        )

    def combine(self, ids: Tensor, found: Mapped) -> Tensor:
        return self.internal(ids) + found.mapped
