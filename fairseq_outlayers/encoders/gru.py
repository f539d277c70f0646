"""A bidirectional GRU encoder for batches padded on either side."""

from typing import Any, NamedTuple, Optional

import torch.nn as nn
from fairseq.models import FairseqEncoder
from torch import Tensor

from fairseq_outlayers.encoders.lstm import MAX_POSITIONS
from fairseq_outlayers.layers.dropout import Dropout
from fairseq_outlayers.layers.padding import left_padded
from fairseq_outlayers.source_embeddings import SourceEmbedding


class GRUEncoderOut(NamedTuple):
    """Encoder states in the order of the source tokens, both directions joined."""

    states: Tensor  # (B, S, 2H)
    padding_mask: Tensor  # True where padded, (B, S)


class GRUEncoder(FairseqEncoder):
    """Embeddings and one bidirectional GRU layer over the source.

    Args:
        dictionary: the source dictionary.
        embedding: vectors of source words.
        gru: the layer, over left-padded batches, called as a ``LeftPaddedGRU``.
        embedding_dropout: on the embeddings.
        dropout: on the states.
    """

    def __init__(
        self,
        dictionary: Any,
        embedding: SourceEmbedding,
        gru: nn.Module,
        embedding_dropout: float = 0.0,
        dropout: float = 0.0,
    ):
        super().__init__(dictionary)
        self.embed_tokens = embedding
        self.gru = gru
        self.embedding_dropout = Dropout(embedding_dropout, self)
        self.dropout = Dropout(dropout, self)

    def forward(self, src_tokens: Tensor, src_lengths: Optional[Tensor] = None) -> GRUEncoderOut:
        """Encode a batch of token ids, ``(B, S)``, padded on either side."""
        padding_mask = src_tokens.eq(self.dictionary.pad())
        ids, mask, in_given_order = left_padded(src_tokens, padding_mask)
        return GRUEncoderOut(in_given_order(self._states(ids, mask)), padding_mask)

    def _states(self, ids: Tensor, padding_mask: Tensor) -> Tensor:
        if self.embed_tokens.directions_differ:
            both = self.embed_tokens.both_directions(ids)
            inputs, backward_inputs = map(self.embedding_dropout, both)
        else:
            inputs = backward_inputs = self.embedding_dropout(self.embed_tokens(ids))
        return self.dropout(self.gru(inputs, backward_inputs, padding_mask))

    def reorder_encoder_out(self, encoder_out: GRUEncoderOut, new_order: Tensor) -> GRUEncoderOut:
        """Reorder the rows of the batch by ``new_order``, ``(B',)``, for beam search."""
        return GRUEncoderOut(*(tensor.index_select(0, new_order) for tensor in encoder_out))

    def max_positions(self) -> int:
        return MAX_POSITIONS
