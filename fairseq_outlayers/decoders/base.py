"""Base classes of recurrent decoders, with and without attention."""

from abc import ABC, abstractmethod
from typing import Any, Dict, Optional, Tuple

import torch.nn as nn
from fairseq.models import FairseqIncrementalDecoder
from torch import Tensor

from fairseq_outlayers.encoders.lstm import MAX_POSITIONS
from fairseq_outlayers.output_layers import OutputLayer


class StatefulDecoder(FairseqIncrementalDecoder):
    """A recurrence under an output layer.

    A subclass sets ``output_projection``, and caches its state for beam search as a dict of tensors
    under the key ``"state"``.
    """

    output_projection: OutputLayer
    batch_dimension = 0
    """Of the cached tensors."""
    per_sentence: Tuple[str, ...] = ()
    """Names of cached tensors that are equal for all hypotheses of a sentence."""

    def output_layer(self, features: Tensor, **kwargs: Any) -> Tensor:
        """Logits ``(..., V)`` from states ``(..., H)``."""
        return self.output_projection(features)

    def reorder_incremental_state(
        self, incremental_state: Dict[str, Any], new_order: Tensor
    ) -> None:
        """Reorder the rows of the cached state by ``new_order``, ``(B',)``, for beam search."""
        self._reorder(incremental_state, new_order, unchanged=())

    def reorder_within_sentences(
        self, incremental_state: Dict[str, Any], new_order: Tensor
    ) -> None:
        """The same for rows that stay in their sentence, without copying ``per_sentence``."""
        self._reorder(incremental_state, new_order, unchanged=self.per_sentence)

    def _reorder(
        self, incremental_state: Dict[str, Any], new_order: Tensor, unchanged: Tuple[str, ...]
    ) -> None:
        cached = self.get_incremental_state(incremental_state, "state")
        if cached is not None:
            reordered = {
                name: value
                if name in unchanged
                else value.index_select(self.batch_dimension, new_order)
                for name, value in cached.items()
            }
            self.set_incremental_state(incremental_state, "state", reordered)

    def max_positions(self) -> int:
        return MAX_POSITIONS


class AttentionalDecoder(StatefulDecoder, ABC):
    """Embeddings, a recurrence with attention, and an output layer.

    Args:
        dictionary: the target dictionary.
        embedding: ``(V, d)``.
    """

    per_sentence: Tuple[str, ...] = ("keys",)

    def __init__(self, dictionary: Any, embedding: nn.Embedding):
        super().__init__(dictionary)
        self.embed_tokens = embedding

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[Any] = None,
        incremental_state: Optional[Dict[str, Any]] = None,
        features_only: bool = False,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Logits ``(B, T, V)``, or states ``(B, T, H)`` with ``features_only``; and attention.

        With ``incremental_state`` only the last position of ``prev_output_tokens`` is computed.
        """
        features, extra = self.extract_features(prev_output_tokens, encoder_out, incremental_state)
        return features if features_only else self.output_layer(features), extra

    def extract_features(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[Any] = None,
        incremental_state: Optional[Dict[str, Any]] = None,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Inputs of the output layer, ``(B, T, H)``, and ``{"attn": [(B, T, S)]}``."""
        cached = None
        if incremental_state is not None:
            prev_output_tokens = prev_output_tokens[:, -1:]
            cached = self.get_incremental_state(incremental_state, "state")
        features, attention, state = self.run(prev_output_tokens, encoder_out, cached)
        if incremental_state is not None:
            self.set_incremental_state(incremental_state, "state", state)
        return features, {"attn": [attention]}

    @abstractmethod
    def run(
        self, words: Tensor, encoder_out: Any, cached: Optional[Dict[str, Tensor]]
    ) -> Tuple[Tensor, Tensor, Dict[str, Tensor]]:
        """Run over consecutive target positions.

        Args:
            words: ids of the previous words, ``(B, T)``.
            encoder_out: from the encoder.
            cached: the state that the previous call returned; None at the start.
        Returns:
            Inputs of the output layer, ``(B, T, H)``; attention weights, ``(B, T, S)``; and the
            state for the next call, tensors by name, batch first.
        """
