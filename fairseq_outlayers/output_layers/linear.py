"""The untied output layer: a separate weight row for every class."""

from typing import Any, Optional

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.initialization import Initializer
from fairseq_outlayers.output_layers.base import OutputLayer


class LinearOutputLayer(OutputLayer):
    """``z = W h + b`` with ``W: (V, H)``, the usual softmax layer (Pappas et al. 2018, "base").

    Args:
        num_classes: ``V``.
        hidden_size: ``H``.
        bias: whether classes have biases.
    """

    weight: nn.Parameter

    def __init__(self, num_classes: int, hidden_size: int, bias: bool = True):
        super().__init__(num_classes, bias)
        self.register_table("weight", nn.Parameter(torch.empty(num_classes, hidden_size)))
        nn.init.normal_(self.weight, std=hidden_size**-0.5)

    @classmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "LinearOutputLayer":
        return cls(len(dictionary), hidden_size, bias=not config.no_class_bias)

    def reset_parameters(self, initializer: Initializer) -> None:
        super().reset_parameters(initializer)
        if initializer.reaches_output:
            initializer.fill(self, "weight", self.weight)

    def class_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        return self.rows("weight", ids)
