"""The decoder of Nematus under an output layer."""

from typing import Any, Dict, Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.modules.attentional_decoder import AttentionalDecoder
from fairseq_outlayers.modules.conditional_gru import ConditionalGRU, Steps
from fairseq_outlayers.modules.gru_encoder import GRUEncoderOut
from fairseq_outlayers.output_layers import OutputLayer


class DeepReadout(nn.Module):
    """``t = tanh(L_s s + L_y y + L_c c)``, with biases (Pascanu et al. 2014; Nematus).

    Args:
        hidden_size: of the decoder states ``s``.
        embed_dim: of the embeddings ``y`` of the words before, and of the readout.
        context_size: of the contexts ``c``.
    """

    def __init__(self, hidden_size: int, embed_dim: int, context_size: int):
        super().__init__()
        self.state = nn.Linear(hidden_size, embed_dim)
        self.word = nn.Linear(embed_dim, embed_dim)
        self.context = nn.Linear(context_size, embed_dim)

    def forward(self, steps: Steps, words: Tensor) -> Tensor:
        """``(B, T, embed_dim)``, all steps at once: nothing of it is fed back."""
        sums = self.state(steps.states) + self.word(words) + self.context(steps.contexts)
        return torch.tanh(sums)


class NematusDecoder(AttentionalDecoder):
    """Conditional GRU, deep readout, output layer (Sennrich et al. 2017).

    Args:
        dictionary: the target dictionary.
        embedding: ``(V, d)``.
        recurrence: the conditional GRU with its attention.
        readout: from its steps to what is scored.
        output_projection: scores classes.
        start: from the mean encoder state to the first decoder state, before the tanh.
        embedding_dropout: on the embeddings.
        dropout: on the readout.
    """

    def __init__(
        self,
        dictionary: Any,
        embedding: nn.Embedding,
        recurrence: ConditionalGRU,
        readout: DeepReadout,
        output_projection: OutputLayer,
        start: nn.Linear,
        embedding_dropout: float = 0.0,
        dropout: float = 0.0,
    ):
        super().__init__(dictionary, embedding, output_projection)
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.dropout = nn.Dropout(dropout)
        self.start = start
        self.recurrence = recurrence
        self.readout = readout

    def extract_features(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[GRUEncoderOut] = None,
        incremental_state: Optional[Dict[str, Any]] = None,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Readouts ``(B, T, d)`` and ``{"attn": [(B, T, S)]}``."""
        assert encoder_out is not None
        source, padding_mask = encoder_out
        attention = self.recurrence.attention
        cached = None
        if incremental_state is not None:
            prev_output_tokens = prev_output_tokens[:, -1:]
            cached = self.get_incremental_state(incremental_state, "state")
        if cached is None:
            keys, state = attention.keys(source), self._start_state(source, padding_mask)
        else:
            keys, state = cached["keys"], cached["state"]
        embedded = self.embedding_dropout(self.embed_tokens(prev_output_tokens))
        attend = attention.over(keys, source, padding_mask)
        steps, state = self.recurrence(embedded, state, attend)
        if incremental_state is not None:
            cached = {"keys": keys, "state": state}
            self.set_incremental_state(incremental_state, "state", cached)
        features = self.dropout(self.readout(steps, embedded))
        return features, {"attn": [steps.attention]}

    def _start_state(self, source: Tensor, padding_mask: Tensor) -> Tensor:
        """``s_0 = tanh(W mean_j h_j + b)``, ``(B, H)``; source states are zero where padded."""
        lengths = (~padding_mask).sum(dim=1, keepdim=True)
        return torch.tanh(self.start(source.sum(dim=1) / lengths))
