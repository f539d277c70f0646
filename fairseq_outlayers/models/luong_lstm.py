"""Attentional LSTM translation model with input feeding (Luong et al. 2015), as in OpenNMT.

The base model of Pappas et al. (2018): a unidirectional LSTM encoder whose final states start the
decoder, general attention, input feeding, and any output layer on the attentional state.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

import torch.nn as nn
from fairseq.dataclass import FairseqDataclass
from fairseq.models import (
    FairseqEncoderDecoderModel,
    FairseqIncrementalDecoder,
    register_model,
)
from torch import Tensor

from fairseq_outlayers.compat import register_dictionaries
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.modules.input_feeding_decoder import DecoderState, InputFeedingDecoder
from fairseq_outlayers.modules.left_padded_lstm import LeftPaddedLSTM
from fairseq_outlayers.modules.lstm_encoder import MAX_POSITIONS, EncoderOut, LSTMEncoder
from fairseq_outlayers.output_layers import OutputLayer, OutputLayerConfig, build_output_layer


@dataclass
class LuongLSTMConfig(OutputLayerConfig, FairseqDataclass):
    embed_dim: int = field(
        default=512, metadata={"help": "dimensions of the source and target embeddings"}
    )
    hidden_size: int = field(
        default=512, metadata={"help": "size of the encoder, decoder and attentional states"}
    )
    encoder_layers: int = field(default=2, metadata={"help": "LSTM layers of the encoder"})
    decoder_layers: int = field(
        default=2, metadata={"help": "LSTM layers of the decoder; as many as the encoder has"}
    )
    bidirectional_encoder: bool = field(
        default=False,
        metadata={"help": "read the source in both directions, half of the hidden size each"},
    )
    share_all_embeddings: bool = field(
        default=False,
        metadata={"help": "one embedding table for both sides; needs a joined dictionary"},
    )
    dropout: float = field(
        default=0.3,
        metadata={"help": "dropout between LSTM layers and on the attentional state"},
    )
    embedding_dropout: float = field(
        default=0.0,
        metadata={"help": "dropout on source and target embeddings; none in Pappas et al. (2018)"},
    )
    init_range: float = field(
        default=0.1, metadata={"help": "all parameters start uniform in [-init_range, init_range]"}
    )


class LuongDecoder(FairseqIncrementalDecoder):
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
        super().__init__(dictionary)
        self.embed_tokens = embedding
        self.dropout = nn.Dropout(dropout)
        self.recurrence = recurrence
        self.output_projection = output_projection

    def forward(
        self,
        prev_output_tokens: Tensor,
        encoder_out: Optional[EncoderOut] = None,
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
        encoder_out: Optional[EncoderOut] = None,
        incremental_state: Optional[Dict[str, Any]] = None,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Attentional states ``(B, T, H)`` and ``{"attn": [(B, T, S)]}``."""
        assert encoder_out is not None
        attention = self.recurrence.attention
        cached = None
        if incremental_state is not None:
            prev_output_tokens = prev_output_tokens[:, -1:]
            cached = self.get_incremental_state(incremental_state, "state")
        if cached is None:
            keys = attention.keys(encoder_out.states)
            feed = encoder_out.states.new_zeros(encoder_out.hiddens[-1].shape)
            state = DecoderState(encoder_out.hiddens, encoder_out.cells, feed)
        else:
            keys, state = cached["keys"], DecoderState.from_tensors(cached)
        attend = attention.over(keys, encoder_out.states, encoder_out.padding_mask)
        embedded = self.dropout(self.embed_tokens(prev_output_tokens))
        features, weights, state = self.recurrence(embedded, state, attend)
        if incremental_state is not None:
            cached = {"keys": keys, **state.as_tensors()}
            self.set_incremental_state(incremental_state, "state", cached)
        return features, {"attn": [weights]}

    def output_layer(self, features: Tensor, **kwargs: Any) -> Tensor:
        """Logits ``(..., V)`` from states ``(..., H)``."""
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


@register_model("luong_lstm", dataclass=LuongLSTMConfig)
class LuongLSTM(FairseqEncoderDecoderModel):
    """Attentional LSTM with input feeding, the base model of Pappas et al. (2018).

    LSTM encoder, general attention, input feeding, any output layer on the attentional state.
    """

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> "LuongLSTM":
        _check(cfg, task)
        size = cfg.hidden_size
        source, target = task.source_dictionary, task.target_dictionary
        source_embedding = nn.Embedding(len(source), cfg.embed_dim, source.pad())
        target_embedding = (
            source_embedding
            if cfg.share_all_embeddings
            else nn.Embedding(len(target), cfg.embed_dim, target.pad())
        )
        lstm = LeftPaddedLSTM(
            cfg.embed_dim, size, cfg.encoder_layers, cfg.dropout, cfg.bidirectional_encoder
        )
        recurrence = InputFeedingDecoder(cfg.embed_dim, size, cfg.decoder_layers, cfg.dropout)
        output_layer = build_output_layer(cfg, target_embedding, size, target)
        model = cls(
            LSTMEncoder(source, source_embedding, lstm, cfg.embedding_dropout),
            LuongDecoder(target, target_embedding, recurrence, output_layer, cfg.embedding_dropout),
        )
        for parameter in model.parameters():
            nn.init.uniform_(parameter, -cfg.init_range, cfg.init_range)
        for embedding in (source_embedding, target_embedding):
            nn.init.zeros_(embedding.weight[embedding.padding_idx].detach())
        register_dictionaries(model, task)
        return model

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        features_only: bool = False,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Logits ``(B, T, V)``, or decoder states ``(B, T, H)`` with ``features_only``."""
        encoder_out = self.encoder(src_tokens, src_lengths)
        return self.decoder(
            prev_output_tokens, encoder_out=encoder_out, features_only=features_only
        )


def _check(cfg: Any, task: Any) -> None:
    """Refuse what cannot be built, before anything is."""
    if cfg.encoder_layers != cfg.decoder_layers:
        raise UserError(
            "the final state of every encoder layer starts the decoder layer of the same number: "
            f"--encoder-layers {cfg.encoder_layers} and --decoder-layers {cfg.decoder_layers} "
            "must be equal"
        )
    if cfg.encoder_layers < 1:
        raise UserError(f"--encoder-layers {cfg.encoder_layers}: at least 1 is needed")
    if cfg.bidirectional_encoder and cfg.hidden_size % 2:
        raise UserError(
            f"--hidden-size {cfg.hidden_size} is odd: --bidirectional-encoder gives each direction "
            "half of it"
        )
    if cfg.share_all_embeddings and task.source_dictionary != task.target_dictionary:
        raise UserError(
            "--share-all-embeddings needs one dictionary for both languages: binarize the data "
            "with fairseq-preprocess --joined-dictionary"
        )
