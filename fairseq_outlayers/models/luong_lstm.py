"""Attentional LSTM translation model with input feeding (Luong et al. 2015), as in OpenNMT.

The base model of Pappas et al. (2018): a unidirectional LSTM encoder whose final states initialize
the decoder, general attention, input feeding, and any output layer on the attentional state.
"""

from dataclasses import dataclass, field
from typing import Any

import torch.nn as nn
from fairseq.models import register_model

from fairseq_outlayers.decoders.input_feeding import InputFeedingDecoder
from fairseq_outlayers.decoders.luong import LuongDecoder
from fairseq_outlayers.encoders.lstm import LSTMEncoder
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.init_range import PublishedInit, init_spread
from fairseq_outlayers.layers.initialization import Uniform
from fairseq_outlayers.layers.recurrent.left_padded_lstm import LeftPaddedLSTM
from fairseq_outlayers.models.base import AttentionalModel
from fairseq_outlayers.models.stock_lstm import stock_lstm
from fairseq_outlayers.options import OutputLayerConfig, SourceEmbeddingConfig, register_size
from fairseq_outlayers.output_layers import build_output_layer
from fairseq_outlayers.ranges import depth, ranged, share, width
from fairseq_outlayers.source_embeddings import SourceEmbedding

# The authors' initialization, for their width. With it, an LSTM of 128 units needs six epochs of
# Multi30k for what takes one epoch with 0.2.
PUBLISHED_INIT = PublishedInit(0.1, 512)


@dataclass
class LuongLSTMConfig(OutputLayerConfig, SourceEmbeddingConfig):
    embed_dim: int = width(512, "dimensions of the source and target embeddings")
    hidden_size: int = width(512, "size of the encoder, decoder and attentional states")
    encoder_layers: int = depth(2, "LSTM layers of the encoder")
    decoder_layers: int = depth(2, "LSTM layers of the decoder, equal to --encoder-layers")
    bidirectional_encoder: bool = field(
        default=False,
        metadata={"help": "read the source in both directions, each with half the hidden size"},
    )
    share_all_embeddings: bool = field(
        default=False,
        metadata={"help": "one embedding table for both sides; requires a joined dictionary"},
    )
    dropout: float = share(0.3, "dropout between LSTM layers and on the attentional state")
    embedding_dropout: float = share(
        0.0, "dropout on source and target embeddings; none in Pappas et al. (2018)"
    )
    init_range: float = ranged(
        0.0,
        "initialize all parameters uniformly in [-init_range, init_range]; 0: 0.1 as in Pappas et "
        "al. (2018) at --hidden-size 512, scaled for other sizes to preserve the variance of "
        "products (0.2 at 128)",
        at_least=0,
        at_most=100,
    )


@register_model("luong_lstm", dataclass=LuongLSTMConfig)
class LuongLSTM(AttentionalModel):
    """Attentional LSTM with input feeding, the base model of Pappas et al. (2018).

    LSTM encoder, general attention, input feeding, any output layer on the attentional state.
    """

    gates = 4

    @classmethod
    def check_options(cls, cfg: Any) -> None:
        if cfg.encoder_layers != cfg.decoder_layers:
            raise UserError(
                f"--encoder-layers {cfg.encoder_layers} and --decoder-layers {cfg.decoder_layers} "
                "must be equal: the final state of each encoder layer initializes a decoder layer"
            )
        if cfg.bidirectional_encoder and cfg.hidden_size % 2:
            raise UserError(
                f"--hidden-size {cfg.hidden_size} is odd: --bidirectional-encoder gives each "
                "direction half of it"
            )

    @classmethod
    def is_bidirectional(cls, cfg: Any) -> bool:
        return cfg.bidirectional_encoder

    @classmethod
    def build_encoder(cls, cfg: Any, dictionary: Any, embedding: SourceEmbedding) -> LSTMEncoder:
        lstm = LeftPaddedLSTM(
            cfg.embed_dim,
            cfg.hidden_size,
            cfg.encoder_layers,
            cfg.dropout,
            cfg.bidirectional_encoder,
        )
        return LSTMEncoder(dictionary, embedding, lstm, cfg.embedding_dropout)

    @classmethod
    def build_decoder(cls, cfg: Any, dictionary: Any, embedding: nn.Embedding) -> LuongDecoder:
        size = cfg.hidden_size
        recurrence = InputFeedingDecoder(cfg.embed_dim, size, cfg.decoder_layers, cfg.dropout)
        output_layer = build_output_layer(cfg, embedding, size, dictionary)
        return LuongDecoder(dictionary, embedding, recurrence, output_layer, cfg.embedding_dropout)

    def __prepare_scriptable__(self) -> nn.Module:
        """fairseq's model with the same parameters, for ``torch.jit.script``."""
        return stock_lstm(self)

    @classmethod
    def initializer(cls, cfg: Any) -> Uniform:
        return Uniform(init_spread(cfg.init_range, cfg.hidden_size, PUBLISHED_INIT))


# The main models of Pappas et al. (2018) at the paper's sizes: 2+2 layers, 512 dimensions.
register_size("base_lstm", LuongLSTM, "The untied baseline.", output_layer="linear")
register_size("tied_lstm", LuongLSTM, "The weight tying baseline.", output_layer="tied")
register_size("joint_lstm", LuongLSTM, "The joint output layer, d_j = 512.", output_layer="joint")
