"""Weight tying: class embeddings are the input embeddings."""

from typing import Any, Optional

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.output_layers.base import EmbeddingOutputLayer


class TiedOutputLayer(EmbeddingOutputLayer):
    """``z = E h + b`` with ``E`` the decoder's input embeddings (Press & Wolf 2017).

    Unlike fairseq's ``--share-decoder-input-output-embed``, it has class biases.

    Args:
        embedding: the decoder's input embeddings ``E``, ``(V, d)``.
        hidden_size: ``H``, which must equal ``d``; None: ``d``.
        bias: whether classes have biases.
    Raises:
        UserError: if ``d`` and ``H`` differ.
    """

    def __init__(
        self, embedding: nn.Embedding, hidden_size: Optional[int] = None, bias: bool = True
    ):
        super().__init__(embedding, bias)
        if hidden_size is not None:
            self.check_equal_sizes(hidden_size, "tied")

    @classmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "TiedOutputLayer":
        return cls(embedding, hidden_size, bias=not config.no_class_bias)

    def class_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        return self.input_embeddings(ids)
