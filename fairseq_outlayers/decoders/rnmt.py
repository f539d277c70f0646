"""The RNMT+ decoder under an output layer."""

from typing import Any, Dict, Optional, Tuple

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.decoders.base import AttentionalDecoder
from fairseq_outlayers.decoders.rnmt_stack import DecoderStack
from fairseq_outlayers.encoders.lstm import EncoderOut
from fairseq_outlayers.layers.dropout import Dropout
from fairseq_outlayers.output_layers import OutputLayer


class RNMTDecoder(AttentionalDecoder):
    """Embeddings, a recurrent stack with attention, and an output layer.

    Args:
        dictionary: the target dictionary.
        embedding: ``(V, d)``.
        stack: the layers with their attention.
        output_projection: scores classes from ``[top state ; context]``, ``(2 H,)``.
        dropout: on the embeddings.
    """

    per_sentence = ("keys", "values")

    def __init__(
        self,
        dictionary: Any,
        embedding: nn.Embedding,
        stack: DecoderStack,
        output_projection: OutputLayer,
        dropout: float = 0.0,
    ):
        super().__init__(dictionary, embedding)
        self.dropout = Dropout(dropout, self)
        self.stack = stack
        self.output_projection = output_projection

    def run(
        self, words: Tensor, encoder_out: EncoderOut, cached: Optional[Dict[str, Tensor]]
    ) -> Tuple[Tensor, Tensor, Dict[str, Tensor]]:
        """Top states with their contexts ``(B, T, 2 H)``, attention weights and the state."""
        source, attention = encoder_out.states, self.stack.attention
        if cached is None:
            keys, values = attention.keys(source), attention.values(source)
            state = self.stack.start(source)
        else:
            keys, values = cached["keys"], cached["values"]
            state = self.stack.from_tensors(cached)
        attend = attention.over(keys, values, encoder_out.padding_mask)
        embedded = self.dropout(self.embed_tokens(words))
        real = words.ne(self.dictionary.pad())
        features, weights, state = self.stack(embedded, state, attend, real)
        return features, weights, {"keys": keys, "values": values, **state.as_tensors()}
