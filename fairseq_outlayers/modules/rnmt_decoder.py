"""The RNMT+ decoder under an output layer."""

from typing import Any, Dict, Optional, Tuple

import torch.nn as nn
from fairseq.models import FairseqIncrementalDecoder
from torch import Tensor

from fairseq_outlayers.modules.lstm_encoder import MAX_POSITIONS, EncoderOut
from fairseq_outlayers.modules.rnmt_stacks import DecoderStack
from fairseq_outlayers.output_layers import OutputLayer


class RNMTDecoder(FairseqIncrementalDecoder):
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
        super().__init__(dictionary)
        self.embed_tokens = embedding
        self.dropout = nn.Dropout(dropout)
        self.stack = stack
        self.output_projection = output_projection

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[EncoderOut] = None,
        incremental_state: Optional[Dict[str, Any]] = None,
        features_only: bool = False,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Logits ``(B, T, V)``, or states ``(B, T, 2 H)`` with ``features_only``; and attention.

        With ``incremental_state`` only the last position of ``prev_output_tokens`` is computed.
        """
        features, extra = self.extract_features(prev_output_tokens, encoder_out, incremental_state)
        return features if features_only else self.output_layer(features), extra

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

    def output_layer(self, features: Tensor, **kwargs: Any) -> Tensor:
        """Logits ``(..., V)`` from states ``(..., 2 H)``."""
        return self.output_projection(features)

    def reorder_incremental_state(
        self, incremental_state: Dict[str, Any], new_order: Tensor
    ) -> None:
        """Rows of the cached state in another order, ``(B',)``, for beam search."""
        cached = self.get_incremental_state(incremental_state, "state")
        if cached is not None:
            reordered = {name: value.index_select(0, new_order) for name, value in cached.items()}
            self.set_incremental_state(incremental_state, "state", reordered)

    def max_positions(self) -> int:
        return MAX_POSITIONS
