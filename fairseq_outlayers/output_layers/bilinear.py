"""A linear map between decoder states and embeddings."""

from typing import Any, Optional

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.output_layers.structure import (
    ACTIVATIONS,
    StructureOutputLayer,
    inner_bias,
    make_projection,
)


class BilinearOutputLayer(StructureOutputLayer):
    """``z = E (W h) + b`` with ``W: (d, H)`` (Pappas et al. 2018, eq. 6)."""

    @classmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "BilinearOutputLayer":
        return cls.build_from_contexts(config, embedding, hidden_size, ACTIVATIONS["none"])

    @classmethod
    def build_from_contexts(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, nonlinearity: Any
    ) -> Any:
        """Build with a projection of contexts, ``H -> d``, without bias in the paper."""
        cls.check_embedding(embedding)
        bias = inner_bias(config, in_paper=False)
        projection = make_projection(hidden_size, embedding.embedding_dim, bias)
        return cls(embedding, projection, nonlinearity, bias=not config.no_class_bias)

    def class_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        return self.input_embeddings(ids)

    def project(self, hidden: Tensor) -> Tensor:
        return self.nonlinearity(self.projection(hidden))
