"""Decoders with a readout between their recurrence and the output layer."""

from abc import abstractmethod
from typing import Any, Dict, Optional, Tuple

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.decoders.base import AttentionalDecoder
from fairseq_outlayers.encoders.gru import GRUEncoderOut
from fairseq_outlayers.output_layers import OutputLayer


class ReadoutDecoder(AttentionalDecoder):
    """A recurrence with attention; a readout of states, contexts and words; an output layer.

    Args:
        dictionary: the target dictionary.
        embedding: ``(V, d)``.
        recurrence: maps embeddings, previous ``"state"`` and ``"context"``, and attention to
            ``Steps``; has an ``attention``.
        readout: maps steps and embeddings to the input of the output layer.
        output_projection: scores classes.
        start: maps a source vector to the first decoder state.
        embedding_dropout: on the embeddings.
        dropout: on the readout.
    """

    def __init__(
        self,
        dictionary: Any,
        embedding: nn.Embedding,
        recurrence: nn.Module,
        readout: nn.Module,
        output_projection: OutputLayer,
        start: nn.Linear,
        embedding_dropout: float = 0.0,
        dropout: float = 0.0,
    ):
        super().__init__(dictionary, embedding)
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.dropout = nn.Dropout(dropout)
        self.start = start
        self.recurrence: Any = recurrence
        self.readout = readout
        self.output_projection = output_projection

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
        before = None
        if incremental_state is not None:
            prev_output_tokens = prev_output_tokens[:, -1:]
            before = self.get_incremental_state(incremental_state, "state")
        words = self.embedding_dropout(self.embed_tokens(prev_output_tokens))
        if before is None:
            state = self.start_state(source, padding_mask)
            before, words = {"keys": attention.keys(source), "state": state}, self.at_start(words)
        attend = attention.over(before["keys"], source, padding_mask)
        steps = self.recurrence(words, before, attend)
        if incremental_state is not None:
            after = {"state": steps.states[:, -1], "context": steps.contexts[:, -1]}
            self.set_incremental_state(incremental_state, "state", {**before, **after})
        return self.dropout(self.readout(steps, words)), {"attn": [steps.attention]}

    @abstractmethod
    def start_state(self, source: Tensor, padding_mask: Tensor) -> Tensor:
        """The first decoder state ``(B, H)``.

        Args:
            source: encoder states, ``(B, S, C)``, zero where padded.
            padding_mask: True where padded, ``(B, S)``.
        """

    def at_start(self, words: Tensor) -> Tensor:
        """Embeddings ``(B, T, d)`` at the start of a sentence, the first being ``</s>``."""
        return words
