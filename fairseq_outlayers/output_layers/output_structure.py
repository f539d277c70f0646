"""A nonlinear map from embeddings to class vectors in the space of decoder states."""

from typing import Any, Callable, Optional

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.output_layers.base import EmbeddingOutputLayer
from fairseq_outlayers.output_layers.computed import ComputedOutputLayer
from fairseq_outlayers.output_layers.structure import (
    StructureConfig,
    activation,
    inner_bias,
    make_projection,
)


class OutputStructureOutputLayer(ComputedOutputLayer, EmbeddingOutputLayer):
    """``z = tanh(E U^T + 1 b_u^T) h + b`` with ``U: (H, d)`` (Pappas et al. 2018, eq. 7a).

    Args:
        embedding: the decoder's input embeddings ``E``, ``(V, d)``.
        projection: ``U`` and ``b_u``.
        nonlinearity: in place of tanh.
        bias: whether every class has a bias of its own.
    """

    Config = StructureConfig

    def __init__(
        self,
        embedding: nn.Embedding,
        projection: nn.Linear,
        nonlinearity: Callable[[Tensor], Tensor],
        bias: bool = True,
    ):
        super().__init__(embedding, bias)
        self.projection = projection
        self.nonlinearity = nonlinearity

    @classmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "OutputStructureOutputLayer":
        cls.check_embedding(embedding)
        size = embedding.embedding_dim
        projection = make_projection(size, hidden_size, inner_bias(config, in_paper=True))
        return cls(embedding, projection, activation(config), bias=not config.no_class_bias)

    def encode_classes(self, ids: Optional[Tensor]) -> Tensor:
        return self.nonlinearity(self.projection(self.input_embeddings(ids)))
