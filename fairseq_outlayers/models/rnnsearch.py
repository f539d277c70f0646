"""RNNsearch (Bahdanau et al. 2015), the model of Jean et al. (2015).

A bidirectional GRU encoder, a GRU decoder with additive attention, a maxout readout, any source
embedding below and any output layer on top.
"""

from dataclasses import dataclass
from typing import Any

import torch.nn as nn
from fairseq.models import register_model

from fairseq_outlayers.decoders.attentional_gru import AttentionalGRU
from fairseq_outlayers.decoders.rnnsearch import MaxoutReadout, RNNsearchDecoder
from fairseq_outlayers.encoders.gru import GRUEncoder
from fairseq_outlayers.layers.attention.additive import AdditiveAttention
from fairseq_outlayers.layers.recurrent.gated_unit import BidirectionalGatedUnits, GatedUnit
from fairseq_outlayers.models.base import AttentionalModel
from fairseq_outlayers.models.checks import check_model
from fairseq_outlayers.models.dictionary_check import register_dictionaries
from fairseq_outlayers.output_layers import OutputLayerConfig, build_output_layer
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.ranges import optional_width, ranged, share, width
from fairseq_outlayers.source_embeddings import SourceEmbeddingConfig, build_source_embedding


@dataclass
class RNNsearchConfig(OutputLayerConfig, SourceEmbeddingConfig):
    embed_dim: int = width(620, "dimensions of the embeddings and of the readout")
    hidden_size: int = width(1000, "size of the GRU states, of either direction in the encoder")
    attention_size: int = optional_width(
        0, "size of the attention's hidden layer; 0: as --hidden-size"
    )
    maxout_size: int = width(500, "maxout units of the readout, each the larger of a pair")
    dropout: float = share(0.0, "dropout on the encoder states and on the readout")
    embedding_dropout: float = share(0.0, "dropout on source and target embeddings")
    init_std: float = ranged(
        0.01,
        "weights start normal with this deviation, the attention's with a tenth of it; "
        "recurrent ones orthogonal",
        at_least=0,
        at_most=100,
    )


@register_model("rnnsearch", dataclass=RNNsearchConfig)
class RNNsearch(AttentionalModel):
    """Bidirectional GRU encoder, additive attention, GRU decoder, maxout readout (RNNsearch).

    The model of Bahdanau et al. (2015) and Jean et al. (2015), with any source embedding and any
    output layer.
    """

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> "RNNsearch":
        check_model(cfg, RNNsearchConfig, task)
        model = cls(_build_encoder(cfg, task.source_dictionary), _build_decoder(cfg, task))
        _initialize(model, cfg.init_std)
        register_dictionaries(model, task)
        return model


def _build_encoder(cfg: Any, dictionary: Any) -> GRUEncoder:
    embedding = build_source_embedding(cfg, dictionary, cfg.embed_dim, bidirectional=True)
    units = BidirectionalGatedUnits(cfg.embed_dim, cfg.hidden_size)
    return GRUEncoder(dictionary, embedding, units, cfg.embedding_dropout, cfg.dropout)


def _build_decoder(cfg: Any, task: Any) -> RNNsearchDecoder:
    dictionary, size = task.target_dictionary, cfg.hidden_size
    embedding = nn.Embedding(len(dictionary), cfg.embed_dim, dictionary.pad())
    attention = AdditiveAttention(size, 2 * size, cfg.attention_size or size, bias=False)
    return RNNsearchDecoder(
        dictionary,
        embedding,
        AttentionalGRU(cfg.embed_dim, size, attention, 2 * size),
        MaxoutReadout(size, cfg.embed_dim, 2 * size, cfg.maxout_size),
        build_output_layer(cfg, embedding, cfg.embed_dim, dictionary),
        nn.Linear(size, size),
        cfg.embedding_dropout,
        cfg.dropout,
    )


def _initialize(model: RNNsearch, std: float) -> None:
    """The paper's start (Bahdanau et al. 2015, App. B.1).

    The class vectors of ``linear`` belong to the paper's model. Any other output layer keeps a
    start of its own.
    """
    decoder = model.decoder
    other = not isinstance(decoder.output_projection, LinearOutputLayer)
    for name, parameter in model.named_parameters():
        if other and "output_projection" in name:
            continue
        if "bias" in name:
            nn.init.zeros_(parameter)
        else:
            nn.init.normal_(parameter, std=std)
    for unit in (module for module in model.modules() if isinstance(module, GatedUnit)):
        for matrix in unit.recurrent.detach().chunk(3):
            nn.init.orthogonal_(matrix)
    attention = decoder.recurrence.attention
    for layer in (attention.query, attention.key):
        nn.init.normal_(layer.weight, std=std / 10)
    nn.init.zeros_(attention.score)
    model.encoder.embed_tokens.zero_padding()
    target = decoder.embed_tokens
    nn.init.zeros_(target.weight[target.padding_idx].detach())
