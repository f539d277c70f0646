"""The joint output layer projects embeddings and decoder states into a joint space."""

from dataclasses import dataclass
from typing import Any, Callable, List, Optional

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.output_layers.base import EmbeddingOutputLayer
from fairseq_outlayers.output_layers.computed import ComputedOutputLayer
from fairseq_outlayers.output_layers.structure import (
    StructureConfig,
    activation,
    inner_bias,
    make_projection,
    require_modules,
)
from fairseq_outlayers.ranges import check_ranges, depth, width


class AdditiveEncoder(nn.Module):
    """``x_1 = f(W_1 x_0)``, then ``x_{i+1} = x_i + f(W_{i+1} x_i)``.

    The paper uses one layer. Several small ones are its proposal for future work: consecutive
    additive transformations instead of one wide layer.

    Args:
        input_size: size of ``x_0``.
        output_size: size of all others.
        num_layers: number of layers.
        nonlinearity: ``f``.
        bias: whether the maps ``W`` have biases.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        num_layers: int,
        nonlinearity: Callable[[Tensor], Tensor],
        bias: bool,
    ):
        super().__init__()
        sizes = [input_size] + [output_size] * (num_layers - 1)
        self.projections = nn.ModuleList(make_projection(size, output_size, bias) for size in sizes)
        self.nonlinearity = nonlinearity
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        """``(..., input_size) -> (..., output_size)``."""
        for number, projection in enumerate(self.projections):  # TorchScript supports enumerate
            step = self.nonlinearity(projection(x))
            x = step if number == 0 else x + step
        return x


def joint_encoders(config: Any, class_size: int, hidden_size: int) -> List[AdditiveEncoder]:
    """Encoders of classes and of contexts into the joint space of ``--joint-dim``.

    Args:
        config: has the fields of ``JointOutputLayer.Config``.
        class_size: of a class's input vector.
        hidden_size: of a decoder state.
    Raises:
        UserError: if a size or number of layers is out of its range.
    """
    check_ranges(config, JointOutputLayer.Config)
    bias = inner_bias(config, in_paper=True)
    return [
        AdditiveEncoder(size, config.joint_dim, config.joint_layers, activation(config), bias)
        for size in (class_size, hidden_size)
    ]


class JointOutputLayer(ComputedOutputLayer, EmbeddingOutputLayer):
    """``z = tanh(E U^T + 1 b_u^T) tanh(V h + b_v) + b`` (Pappas et al. 2018, eq. 14).

    ``U: (d_j, d)`` encodes classes, ``V: (d_j, H)`` contexts.

    Args:
        embedding: the decoder's input embeddings ``E``, ``(V, d)``.
        class_encoder: ``(..., d) -> (..., d_j)``.
        context_encoder: ``(..., H) -> (..., d_j)``.
        bias: whether classes have biases.
    """

    @dataclass
    class Config(StructureConfig):
        joint_dim: int = width(512, "size of the joint space of embeddings and decoder states")
        joint_layers: int = depth(1, "consecutive additive transformations into the joint space")

    def __init__(
        self,
        embedding: nn.Embedding,
        class_encoder: AdditiveEncoder,
        context_encoder: nn.Module,
        bias: bool = True,
    ):
        super().__init__(embedding, bias)
        require_modules(type(self), class_encoder, context_encoder)
        self.class_encoder = class_encoder
        self.context_encoder = context_encoder

    @classmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "JointOutputLayer":
        cls.check_embedding(embedding)
        of_classes, of_contexts = joint_encoders(config, embedding.embedding_dim, hidden_size)
        return cls(embedding, of_classes, of_contexts, bias=not config.no_class_bias)

    @property
    def class_size(self) -> int:
        return self.class_encoder.output_size

    def encode_classes(self, ids: Optional[Tensor]) -> Tensor:
        return self.class_encoder(self.input_embeddings(ids))

    def project(self, hidden: Tensor) -> Tensor:
        return self.context_encoder(hidden)
