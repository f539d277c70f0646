"""A nonlinear map from embeddings to class vectors in the space of decoder states."""

from typing import Any, Optional

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.output_layers.computed import ComputedOutputLayer
from fairseq_outlayers.output_layers.structure import (
    StructureConfig,
    StructureOutputLayer,
    activation,
    inner_bias,
    make_projection,
)


class OutputStructureOutputLayer(ComputedOutputLayer, StructureOutputLayer):
    """``z = tanh(E U^T + 1 b_u^T) h + b`` with ``U: (H, d)`` (Pappas et al. 2018, eq. 7a).

    The bias ``b_u`` is that of eq. 12; ``--joint-inner-bias none`` is eq. 7a as printed.
    """

    Config = StructureConfig
    default_nonlinearity = "tanh"

    @classmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "OutputStructureOutputLayer":
        cls.check_embedding(embedding)
        bias = inner_bias(config, in_paper=True)
        projection = make_projection(embedding.embedding_dim, hidden_size, bias)
        return cls(embedding, projection, activation(config), bias=not config.no_class_bias)

    @property
    def class_size(self) -> int:
        return self.projection.out_features

    def encode_classes(self, ids: Optional[Tensor]) -> Tensor:
        return self.nonlinearity(self.projection(self.input_embeddings(ids)))
