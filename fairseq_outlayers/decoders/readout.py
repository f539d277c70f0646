"""Decoders with a readout between their recurrence and the output layer."""

from abc import abstractmethod
from typing import Any, Dict, Optional, Tuple

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.decoders.base import AttentionalDecoder
from fairseq_outlayers.encoders.gru import GRUEncoderOut
from fairseq_outlayers.layers.dropout import Dropout
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
        self.embedding_dropout = Dropout(embedding_dropout, self)
        self.dropout = Dropout(dropout, self)
        self.start = start
        self.recurrence: Any = recurrence
        self.readout = readout
        self.output_projection = output_projection

    def run(
        self, words: Tensor, encoder_out: GRUEncoderOut, cached: Optional[Dict[str, Tensor]]
    ) -> Tuple[Tensor, Tensor, Dict[str, Tensor]]:
        """Readouts ``(B, T, d)``, attention weights and the state."""
        source, padding_mask = encoder_out
        attention = self.recurrence.attention
        embedded = self.embedding_dropout(self.embed_tokens(words))
        if cached is None:
            state = self.start_state(source, padding_mask)
            cached = {"keys": attention.keys(source), "state": state}
            embedded = self.at_start(embedded)
        attend = attention.over(cached["keys"], source, padding_mask)
        steps = self.recurrence(embedded, cached, attend)
        after = {"state": steps.states[:, -1], "context": steps.contexts[:, -1]}
        return self.dropout(self.readout(steps, embedded)), steps.attention, {**cached, **after}

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
