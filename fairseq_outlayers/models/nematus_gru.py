"""The translation model of Nematus (Sennrich et al. 2017), as Di Gangi & Federico (2017) use it.

A bidirectional GRU encoder, a conditional GRU decoder with additive attention, a deep readout, any
source embedding below and any output layer on top.
"""

from dataclasses import dataclass
from typing import Any

import torch.nn as nn
from fairseq.models import register_model

from fairseq_outlayers.decoders.conditional_gru import ConditionalGRU
from fairseq_outlayers.decoders.nematus import DeepReadout, NematusDecoder
from fairseq_outlayers.encoders.gru import GRUEncoder
from fairseq_outlayers.layers.attention.additive import AdditiveAttention
from fairseq_outlayers.layers.recurrent.left_padded_gru import LeftPaddedGRU
from fairseq_outlayers.models.base import AttentionalModel
from fairseq_outlayers.models.checks import check_model
from fairseq_outlayers.models.dictionary_check import register_dictionaries
from fairseq_outlayers.output_layers import OutputLayerConfig, build_output_layer
from fairseq_outlayers.ranges import optional_width, ranged, share, width
from fairseq_outlayers.registry import register_size
from fairseq_outlayers.source_embeddings import SourceEmbeddingConfig, build_source_embedding


@dataclass
class NematusGRUConfig(OutputLayerConfig, SourceEmbeddingConfig):
    embed_dim: int = width(500, "dimensions of the embeddings and of the readout")
    hidden_size: int = width(500, "size of the GRU states, of either direction in the encoder")
    attention_size: int = optional_width(
        0, "size of the attention's hidden layer; 0: that of the encoder states"
    )
    dropout: float = share(0.0, "dropout on the encoder states and on the readout")
    embedding_dropout: float = share(0.0, "dropout on source and target embeddings")
    init_std: float = ranged(
        0.01,
        "weights start normal with this deviation; recurrent ones orthogonal",
        at_least=0,
        at_most=100,
    )


@register_model("nematus_gru", dataclass=NematusGRUConfig)
class NematusGRU(AttentionalModel):
    """Bidirectional GRU encoder, conditional GRU decoder, deep readout, as in Nematus.

    The model of Di Gangi & Federico (2017), with any source embedding and any output layer.
    """

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> "NematusGRU":
        check_model(cfg, NematusGRUConfig, task)
        model = cls(_build_encoder(cfg, task.source_dictionary), _build_decoder(cfg, task))
        _initialize(model, cfg.init_std)
        register_dictionaries(model, task)
        return model


def _build_encoder(cfg: Any, dictionary: Any) -> GRUEncoder:
    embedding = build_source_embedding(cfg, dictionary, cfg.embed_dim, bidirectional=True)
    gru = LeftPaddedGRU(cfg.embed_dim, cfg.hidden_size)
    return GRUEncoder(dictionary, embedding, gru, cfg.embedding_dropout, cfg.dropout)


def _build_decoder(cfg: Any, task: Any) -> NematusDecoder:
    dictionary = task.target_dictionary
    context_size = 2 * cfg.hidden_size
    embedding = nn.Embedding(len(dictionary), cfg.embed_dim, dictionary.pad())
    attention = AdditiveAttention(cfg.hidden_size, context_size, cfg.attention_size or context_size)
    return NematusDecoder(
        dictionary,
        embedding,
        ConditionalGRU(cfg.embed_dim, cfg.hidden_size, attention, context_size),
        DeepReadout(cfg.hidden_size, cfg.embed_dim, context_size),
        build_output_layer(cfg, embedding, cfg.embed_dim, dictionary),
        nn.Linear(context_size, cfg.hidden_size),
        cfg.embedding_dropout,
        cfg.dropout,
    )


def _initialize(model: NematusGRU, std: float) -> None:
    """Nematus's start: normal weights, orthogonal recurrent matrices, biases of zero.

    An output layer keeps its own.
    """
    for name, parameter in model.named_parameters():
        if "output_projection" in name:
            continue
        if "weight_hh" in name:
            for gate in parameter.detach().chunk(3):
                nn.init.orthogonal_(gate)
        elif "bias" in name:
            nn.init.zeros_(parameter)
        else:
            nn.init.normal_(parameter, std=std)
    model.encoder.embed_tokens.zero_padding()
    target = model.decoder.embed_tokens
    nn.init.zeros_(target.weight[target.padding_idx].detach())


# The models of Di Gangi & Federico (2017).
register_size(
    "nematus_only_external",
    NematusGRU,
    "External vectors in the place of source embeddings, mapped for each direction.",
    source_embedding="only_external",
    external_map="per_direction",
)
register_size(
    "nematus_mix_sum",
    NematusGRU,
    "Source embeddings plus mapped external vectors.",
    source_embedding="mix_sum",
)
register_size(
    "nematus_mix_gate",
    NematusGRU,
    "A gate between source embeddings and mapped external vectors.",
    source_embedding="mix_gate",
)
