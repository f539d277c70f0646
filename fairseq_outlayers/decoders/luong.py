"""An attentional LSTM decoder with input feeding under an output layer."""

from typing import Any, Dict, Optional, Tuple

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.decoders.base import AttentionalDecoder
from fairseq_outlayers.decoders.input_feeding import InputFeedingDecoder, InputFeedingState
from fairseq_outlayers.encoders.lstm import EncoderOut
from fairseq_outlayers.layers.dropout import Dropout
from fairseq_outlayers.output_layers import OutputLayer


class LuongDecoder(AttentionalDecoder):
    """Input-feeding LSTM decoder under an output layer.

    Args:
        dictionary: the target dictionary.
        embedding: ``(V, d)``.
        recurrence: the LSTM layers with their attention.
        output_projection: scores classes from the attentional state.
        dropout: on the embeddings.
    """

    def __init__(
        self,
        dictionary: Any,
        embedding: nn.Embedding,
        recurrence: InputFeedingDecoder,
        output_projection: OutputLayer,
        dropout: float = 0.0,
    ):
        super().__init__(dictionary, embedding)
        self.dropout = Dropout(dropout, self)
        self.recurrence = recurrence
        self.output_projection = output_projection

    def run(
        self, words: Tensor, encoder_out: EncoderOut, cached: Optional[Dict[str, Tensor]]
    ) -> Tuple[Tensor, Tensor, Dict[str, Tensor]]:
        """Attentional states ``(B, T, H)``, attention weights and the state."""
        attention = self.recurrence.attention
        if cached is None:
            keys = attention.keys(encoder_out.states)
            feed = encoder_out.states.new_zeros(encoder_out.hiddens[-1].shape)
            state = InputFeedingState(encoder_out.hiddens, encoder_out.cells, feed)
        else:
            keys, state = cached["keys"], InputFeedingState.from_tensors(cached)
        attend = attention.over(keys, encoder_out.states, encoder_out.padding_mask)
        embedded = self.dropout(self.embed_tokens(words))
        features, weights, state = self.recurrence(embedded, state, attend)
        return features, weights, {"keys": keys, **state.as_tensors()}
