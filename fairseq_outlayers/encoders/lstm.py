"""An LSTM encoder for batches padded on either side."""

from typing import Any, List, NamedTuple, Optional, Tuple

import torch.nn as nn
from fairseq.models import FairseqEncoder
from torch import Tensor

from fairseq_outlayers.layers.dropout import Dropout
from fairseq_outlayers.layers.padding import left_padded
from fairseq_outlayers.source_embeddings import SourceEmbedding

MAX_POSITIONS = 100_000  # an LSTM has no limit, but fairseq needs a number


class EncoderOut(NamedTuple):
    """Encoder states in the order of the source tokens, and each layer's final state."""

    states: Tensor  # (B, S, H)
    padding_mask: Tensor  # True where padded, (B, S)
    hiddens: List[Tensor]  # one per layer, (B, H)
    cells: List[Tensor]  # one per layer, (B, H)


class LSTMEncoder(FairseqEncoder):
    """Embeddings and LSTM layers over the source.

    Args:
        dictionary: the source dictionary.
        embedding: vectors of source words.
        lstm: layers over left-padded batches, called as a ``LeftPaddedLSTM``.
        dropout: on the embeddings.
    """

    def __init__(
        self,
        dictionary: Any,
        embedding: SourceEmbedding,
        lstm: nn.Module,
        dropout: float = 0.0,
    ):
        super().__init__(dictionary)
        self.dropout = Dropout(dropout, self)
        self.embed_tokens = embedding
        self.lstm = lstm

    def forward(self, src_tokens: Tensor, src_lengths: Optional[Tensor] = None) -> EncoderOut:
        """Encode a batch of token ids, ``(B, S)``, padded on either side."""
        padding_mask = src_tokens.eq(self.dictionary.pad())
        ids, mask, in_given_order = left_padded(src_tokens, padding_mask)
        states, hiddens, cells = self._encode(ids, mask)
        return EncoderOut(in_given_order(states), padding_mask, hiddens, cells)

    def _encode(
        self, ids: Tensor, padding_mask: Tensor
    ) -> Tuple[Tensor, List[Tensor], List[Tensor]]:
        if not self.embed_tokens.directions_differ:
            return self.lstm(self.dropout(self.embed_tokens(ids)), padding_mask)
        forwards, backwards = map(self.dropout, self.embed_tokens.both_directions(ids))
        return self.lstm(forwards, padding_mask, backwards)

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        """Reorder the rows of the batch by ``new_order``, ``(B',)``, for beam search."""
        return EncoderOut(
            encoder_out.states.index_select(0, new_order),
            encoder_out.padding_mask.index_select(0, new_order),
            [hidden.index_select(0, new_order) for hidden in encoder_out.hiddens],
            [cell.index_select(0, new_order) for cell in encoder_out.cells],
        )

    def max_positions(self) -> int:
        return MAX_POSITIONS
