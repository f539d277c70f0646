"""Attentional LSTM translation model with input feeding (Luong et al. 2015), as in OpenNMT.

The base model of Pappas et al. (2018): a unidirectional LSTM encoder whose final states start the
decoder, general attention, input feeding, and any output layer on the attentional state.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Tuple

import torch.nn as nn
from fairseq.models import register_model

from fairseq_outlayers.decoders.input_feeding import InputFeedingDecoder
from fairseq_outlayers.decoders.luong import LuongDecoder
from fairseq_outlayers.encoders.lstm import LSTMEncoder
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.recurrent.left_padded_lstm import LeftPaddedLSTM
from fairseq_outlayers.models.base import AttentionalModel
from fairseq_outlayers.models.checks import check_model
from fairseq_outlayers.models.dictionary_check import register_dictionaries
from fairseq_outlayers.output_layers import OutputLayerConfig, build_output_layer
from fairseq_outlayers.ranges import depth, ranged, share, width
from fairseq_outlayers.registry import register_size
from fairseq_outlayers.source_embeddings import (
    InternalSourceEmbedding,
    SourceEmbedding,
    SourceEmbeddingConfig,
    build_source_embedding,
    refuse_with_shared_embeddings,
)

# The authors' initialisation, which suits their size. In it, an LSTM of 128 units takes six epochs
# of Multi30k to get where one that starts in 0.2 is after the first.
REFERENCE_RANGE, REFERENCE_SIZE = 0.1, 512


@dataclass
class LuongLSTMConfig(OutputLayerConfig, SourceEmbeddingConfig):
    embed_dim: int = width(512, "dimensions of the source and target embeddings")
    hidden_size: int = width(512, "size of the encoder, decoder and attentional states")
    encoder_layers: int = depth(2, "LSTM layers of the encoder")
    decoder_layers: int = depth(2, "LSTM layers of the decoder; as many as the encoder has")
    bidirectional_encoder: bool = field(
        default=False,
        metadata={"help": "read the source in both directions, half of the hidden size each"},
    )
    share_all_embeddings: bool = field(
        default=False,
        metadata={"help": "one embedding table for both sides; needs a joined dictionary"},
    )
    dropout: float = share(0.3, "dropout between LSTM layers and on the attentional state")
    embedding_dropout: float = share(
        0.0, "dropout on source and target embeddings; none in Pappas et al. (2018)"
    )
    init_range: float = ranged(
        0.0,
        "all parameters start uniform in [-init_range, init_range]; 0: in the 0.1 of "
        "Pappas et al. (2018) at a --hidden-size of 512, and at others so that products keep "
        "their variance (0.2 at 128)",
        at_least=0,
        at_most=100,
    )


@register_model("luong_lstm", dataclass=LuongLSTMConfig)
class LuongLSTM(AttentionalModel):
    """Attentional LSTM with input feeding, the base model of Pappas et al. (2018).

    LSTM encoder, general attention, input feeding, any output layer on the attentional state.
    """

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> "LuongLSTM":
        _check(cfg, task)
        size = cfg.hidden_size
        source, target = task.source_dictionary, task.target_dictionary
        source_embedding, target_embedding = _build_embeddings(cfg, source, target)
        lstm = LeftPaddedLSTM(
            cfg.embed_dim, size, cfg.encoder_layers, cfg.dropout, cfg.bidirectional_encoder
        )
        recurrence = InputFeedingDecoder(cfg.embed_dim, size, cfg.decoder_layers, cfg.dropout)
        output_layer = build_output_layer(cfg, target_embedding, size, target)
        model = cls(
            LSTMEncoder(source, source_embedding, lstm, cfg.embedding_dropout),
            LuongDecoder(target, target_embedding, recurrence, output_layer, cfg.embedding_dropout),
        )
        bound = cfg.init_range or REFERENCE_RANGE * math.sqrt(REFERENCE_SIZE / size)
        for parameter in model.parameters():
            nn.init.uniform_(parameter, -bound, bound)
        source_embedding.zero_padding()
        nn.init.zeros_(target_embedding.weight[target.pad()].detach())
        register_dictionaries(model, task)
        return model


def _build_embeddings(cfg: Any, source: Any, target: Any) -> Tuple[SourceEmbedding, nn.Embedding]:
    if cfg.share_all_embeddings:
        shared = InternalSourceEmbedding(len(source), cfg.embed_dim, source.pad(), source.unk())
        return shared, shared
    return (
        build_source_embedding(cfg, source, cfg.embed_dim, cfg.bidirectional_encoder),
        nn.Embedding(len(target), cfg.embed_dim, target.pad()),
    )


def _check(cfg: Any, task: Any) -> None:
    """Refuse what cannot be built, before anything is."""
    check_model(cfg, LuongLSTMConfig, task)
    if cfg.encoder_layers != cfg.decoder_layers:
        raise UserError(
            "the final state of every encoder layer starts the decoder layer of the same number: "
            f"--encoder-layers {cfg.encoder_layers} and --decoder-layers {cfg.decoder_layers} "
            "must be equal"
        )
    if cfg.bidirectional_encoder and cfg.hidden_size % 2:
        raise UserError(
            f"--hidden-size {cfg.hidden_size} is odd: --bidirectional-encoder gives each direction "
            "half of it"
        )
    if cfg.share_all_embeddings:
        refuse_with_shared_embeddings(cfg)
    if cfg.share_all_embeddings and task.source_dictionary != task.target_dictionary:
        raise UserError(
            "--share-all-embeddings needs one dictionary for both languages: binarize the data "
            "with fairseq-preprocess --joined-dictionary"
        )


# The main models of Pappas et al. (2018) at the paper's sizes: 2+2 layers, 512 dimensions.
register_size("base_lstm", LuongLSTM, "The untied baseline.", output_layer="linear")
register_size("tied_lstm", LuongLSTM, "The weight tying baseline.", output_layer="tied")
register_size("joint_lstm", LuongLSTM, "The joint output layer, d_j = 512.", output_layer="joint")
