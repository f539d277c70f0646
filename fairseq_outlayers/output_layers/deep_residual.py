"""A deep class encoder with residual connections to the embeddings."""

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.dropout import Dropout
from fairseq_outlayers.output_layers.base import EmbeddingOutputLayer
from fairseq_outlayers.output_layers.computed import ComputedOutputLayer
from fairseq_outlayers.output_layers.structure import (
    StructureConfig,
    activation,
    inner_bias,
    make_projection,
    require_modules,
)
from fairseq_outlayers.ranges import check_ranges, depth, share


class DeepResidualOutputLayer(ComputedOutputLayer, EmbeddingOutputLayer):
    """``z = E^(k) h + b``, ``E^(i) = f(dropout(E^(i-1)) U_i + b_i) + E`` (Pappas & Henderson 2019).

    The context encoder is the identity, so ``d`` must equal ``H``.

    Args:
        embedding: the decoder's input embeddings ``E = E^(0)``, ``(V, d)``.
        projections: ``U_i`` and ``b_i``.
        nonlinearity: ``f``.
        dropout: before each projection.
        adds_previous: also add ``E^(i-1)``.
        bias: whether classes have biases.
    """

    @dataclass
    class Config(StructureConfig):
        deep_residual_layers: int = depth(2, "depth of the class encoder of deep_residual")
        deep_residual_dropout: float = share(
            0.0, "dropout inside the class encoder of deep_residual"
        )
        deep_residual_previous: bool = field(
            default=False,
            metadata={"help": "also add the layer below, not only the embeddings (deep_residual)"},
        )

    def __init__(
        self,
        embedding: nn.Embedding,
        projections: nn.ModuleList,
        nonlinearity: Callable[[Tensor], Tensor],
        dropout: float = 0.0,
        adds_previous: bool = False,
        bias: bool = True,
    ):
        super().__init__(embedding, bias)
        require_modules(type(self), projections)
        self.projections = projections
        self.nonlinearity = nonlinearity
        self.dropout = Dropout(dropout, self)
        self.adds_previous = adds_previous

    @classmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "DeepResidualOutputLayer":
        cls.check_embedding(embedding)
        check_ranges(config, cls.Config)
        number, size = config.deep_residual_layers, embedding.embedding_dim
        bias = inner_bias(config, in_paper=True)
        layer = cls(
            embedding,
            nn.ModuleList(make_projection(size, size, bias) for _ in range(number)),
            activation(config),
            config.deep_residual_dropout,
            config.deep_residual_previous,
            bias=not config.no_class_bias,
        )
        layer.check_equal_sizes(hidden_size, "deep_residual")
        return layer

    def may_change(self) -> bool:
        """With ``--retain-dropout``, class embeddings differ from call to call."""
        return super().may_change() or (self.dropout.retained and self.dropout.probability > 0)

    @property
    def class_size(self) -> int:
        return self.embedding.embedding_dim

    def encode_classes(self, ids: Optional[Tensor]) -> Tensor:
        embeddings = classes = self.input_embeddings(ids)
        for projection in self.projections:
            transformed = self.nonlinearity(projection(self.dropout(classes))) + embeddings
            classes = transformed + classes if self.adds_previous else transformed
        return classes
