"""The RNMT+ decoder under an output layer."""

from typing import Any, Dict, Optional, Tuple

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.decoders.base import AttentionalDecoder
from fairseq_outlayers.decoders.rnmt_stack import DecoderStack
from fairseq_outlayers.encoders.lstm import EncoderOut
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

    def __init__(
        self,
        dictionary: Any,
        embedding: nn.Embedding,
        stack: DecoderStack,
        output_projection: OutputLayer,
        dropout: float = 0.0,
    ):
        super().__init__(dictionary, embedding)
        self.dropout = nn.Dropout(dropout)
        self.stack = stack
        self.output_projection = output_projection

    def extract_features(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[EncoderOut] = None,
        incremental_state: Optional[Dict[str, Any]] = None,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """States ``(B, T, 2 H)`` and ``{"attn": [(B, T, S)]}``."""
        assert encoder_out is not None
        source, cached = encoder_out.states, None
        if incremental_state is not None:
            prev_output_tokens = prev_output_tokens[:, -1:]
            cached = self.get_incremental_state(incremental_state, "state")
        if cached is None:
            keys, state = self.stack.attention.keys(source), self.stack.start(source)
        else:
            keys, state = cached["keys"], self.stack.from_tensors(cached)
        attend = self.stack.attention.over(keys, source, encoder_out.padding_mask)
        embedded = self.dropout(self.embed_tokens(prev_output_tokens))
        real = prev_output_tokens.ne(self.dictionary.pad())
        features, weights, state = self.stack(embedded, state, attend, real)
        if incremental_state is not None:
            cached = {"keys": keys, **state.as_tensors()}
            self.set_incremental_state(incremental_state, "state", cached)
        return features, {"attn": [weights]}
