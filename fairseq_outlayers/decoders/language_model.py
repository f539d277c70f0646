"""A recurrent language model under an output layer."""

from typing import Any, Dict, Optional, Tuple

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.decoders.base import StatefulDecoder
from fairseq_outlayers.decoders.carried_state import WindowState
from fairseq_outlayers.layers.recurrent.variational_dropout import VariationalLSTM
from fairseq_outlayers.output_layers import OutputLayer

MAX_POSITIONS = 1_000_000  # an LSTM has no limit, but fairseq needs a number


class RecurrentDecoder(StatefulDecoder):
    """Embeddings, LSTM layers, an output layer.

    Args:
        dictionary: of input and output words.
        embedding: maps word ids to vectors.
        lstm: layers over the vectors.
        output_projection: scores classes from the last layer's states.
    """

    batch_dimension = 2

    def __init__(
        self,
        dictionary: Any,
        embedding: nn.Module,
        lstm: VariationalLSTM,
        output_projection: OutputLayer,
    ):
        super().__init__(dictionary)
        self.embed_tokens = embedding
        self.lstm = lstm
        self.output_projection = output_projection

    def forward(
        self,
        prev_output_tokens: Tensor,
        src_lengths: Optional[Tensor] = None,
        incremental_state: Optional[Dict[str, Any]] = None,
        carried: Optional[WindowState] = None,
        features_only: bool = False,
        encoder_out: None = None,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Logits ``(B, T, V)``, or states ``(B, T, H)`` with ``features_only``.

        Args:
            prev_output_tokens: input words, ``(B, T)``.
            src_lengths: ignored: padding can only follow the words of a row.
            incremental_state: of beam search; from the second call on, only the last position is
                computed.
            carried: has the initial state, and takes the final one; None for zeros.
            encoder_out: None; fairseq's beam search passes it, and expects attention.
        """
        features, extra = self.extract_features(
            prev_output_tokens, incremental_state=incremental_state, carried=carried
        )
        return features if features_only else self.output_layer(features), extra

    def extract_features(
        self,
        prev_output_tokens: Tensor,
        encoder_out: None = None,
        incremental_state: Optional[Dict[str, Any]] = None,
        carried: Optional[WindowState] = None,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """States of the last layer, ``(B, T, H)``."""
        state = None if carried is None else carried.of(self)
        if incremental_state is not None:
            cached = self.get_incremental_state(incremental_state, "state")
            if cached is not None:
                state = cached["state"]
                prev_output_tokens = prev_output_tokens[:, -1:]
        features, state = self.lstm(self.embed_tokens(prev_output_tokens), state)
        if incremental_state is not None:
            self.set_incremental_state(incremental_state, "state", {"state": state})
        if carried is not None:
            carried.carry(state, self)
        return features, {"attn": None}

    def max_positions(self) -> int:
        return MAX_POSITIONS
