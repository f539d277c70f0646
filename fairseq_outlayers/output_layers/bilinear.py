"""A linear map between decoder states and embeddings."""

from typing import Any, Optional

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.output_layers.base import EmbeddingOutputLayer
from fairseq_outlayers.output_layers.structure import (
    StructureConfig,
    inner_bias,
    make_projection,
)


class BilinearOutputLayer(EmbeddingOutputLayer):
    """``z = E (W h) + b`` with ``W: (d, H)`` (Pappas et al. 2018, eq. 6).

    Args:
        embedding: the decoder's input embeddings ``E``, ``(V, d)``.
        projection: ``W``.
        bias: whether every class has a bias of its own.
    """

    Config = StructureConfig

    def __init__(self, embedding: nn.Embedding, projection: nn.Linear, bias: bool = True):
        super().__init__(embedding, bias)
        self.projection = projection

    @classmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "BilinearOutputLayer":
        cls.check_embedding(embedding)
        size = embedding.embedding_dim
        projection = make_projection(hidden_size, size, inner_bias(config, in_paper=False))
        return cls(embedding, projection, bias=not config.no_class_bias)

    def class_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        return self.input_embeddings(ids)

    def project(self, hidden: Tensor) -> Tensor:
        return self.projection(hidden)
