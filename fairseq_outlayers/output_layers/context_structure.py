"""A nonlinear map from decoder states to embeddings."""

from typing import Any

import torch.nn as nn

from fairseq_outlayers.output_layers.bilinear import BilinearOutputLayer
from fairseq_outlayers.output_layers.structure import StructureConfig, activation


class ContextStructureOutputLayer(BilinearOutputLayer):
    """``z = E tanh(W h) + b`` with ``W: (d, H)`` (Pappas et al. 2018, eq. 7b)."""

    Config = StructureConfig
    default_nonlinearity = "tanh"

    @classmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "ContextStructureOutputLayer":
        return cls.build_from_contexts(config, embedding, hidden_size, activation(config))
