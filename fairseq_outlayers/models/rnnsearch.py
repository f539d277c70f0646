"""RNNsearch (Bahdanau et al. 2015), the model of Jean et al. (2015).

A bidirectional GRU encoder, a GRU decoder with additive attention, a maxout readout, any source
embedding and any output layer.
"""

from dataclasses import dataclass
from typing import Any

import torch.nn as nn
from fairseq.models import register_model

from fairseq_outlayers.decoders.attentional_gru import AttentionalGRU
from fairseq_outlayers.decoders.rnnsearch import MaxoutReadout, RNNsearchDecoder
from fairseq_outlayers.encoders.gru import GRUEncoder
from fairseq_outlayers.layers.attention.additive import AdditiveAttention
from fairseq_outlayers.layers.init_range import PublishedInit, init_spread
from fairseq_outlayers.layers.initialization import Initializer
from fairseq_outlayers.layers.recurrent.gated_unit import BidirectionalGatedUnits, GatedUnit
from fairseq_outlayers.models.base import AttentionalModel
from fairseq_outlayers.options import OutputLayerConfig, SourceEmbeddingConfig
from fairseq_outlayers.output_layers import build_output_layer
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.ranges import optional_width, ranged, share, width
from fairseq_outlayers.source_embeddings import SourceEmbedding

PUBLISHED_INIT = PublishedInit(0.01, 1000)


@dataclass
class RNNsearchConfig(OutputLayerConfig, SourceEmbeddingConfig):
    embed_dim: int = width(620, "dimensions of the embeddings and of the readout")
    hidden_size: int = width(1000, "size of the GRU states, per direction in the encoder")
    attention_size: int = optional_width(
        0, "size of the attention's hidden layer; 0: --hidden-size"
    )
    maxout_size: int = width(500, "maxout units of the readout, each the maximum of two")
    dropout: float = share(0.0, "dropout on the encoder states and on the readout")
    embedding_dropout: float = share(0.0, "dropout on source and target embeddings")
    init_std: float = ranged(
        0.01,
        "standard deviation of initial weights, a tenth of it in the attention; recurrent ones "
        "are orthogonal; 0: 0.01 as in Bahdanau et al. (2015) at their --hidden-size of 1000, "
        "scaled for other sizes to preserve the variance of products",
        at_least=0,
        at_most=100,
    )


@register_model("rnnsearch", dataclass=RNNsearchConfig)
class RNNsearch(AttentionalModel):
    """Bidirectional GRU encoder, additive attention, GRU decoder, maxout readout (RNNsearch).

    The model of Bahdanau et al. (2015) and Jean et al. (2015), with any source embedding and any
    output layer.
    """

    gates = 3

    @classmethod
    def build_encoder(cls, cfg: Any, dictionary: Any, embedding: SourceEmbedding) -> GRUEncoder:
        units = BidirectionalGatedUnits(cfg.embed_dim, cfg.hidden_size)
        return GRUEncoder(dictionary, embedding, units, cfg.embedding_dropout, cfg.dropout)

    @classmethod
    def build_decoder(cls, cfg: Any, dictionary: Any, embedding: nn.Embedding) -> RNNsearchDecoder:
        size = cfg.hidden_size
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

    @classmethod
    def initializer(cls, cfg: Any) -> "RNNsearchInitializer":
        return RNNsearchInitializer(init_spread(cfg.init_std, cfg.hidden_size, PUBLISHED_INIT))

    def reset_parameters(self, cfg: Any) -> None:
        """The paper's initialization (Bahdanau et al. 2015, App. B.1)."""
        super().reset_parameters(cfg)
        std, output = self.initializer(cfg).std, self.decoder.output_projection
        # The linear output layer is part of the paper's model, but a subclass is another layer.
        if type(output) is LinearOutputLayer:
            nn.init.normal_(output.weight, std=std)
        for unit in (module for module in self.modules() if isinstance(module, GatedUnit)):
            for matrix in unit.recurrent.detach().chunk(3):
                nn.init.orthogonal_(matrix)
        attention = self.decoder.recurrence.attention
        for layer in (attention.query, attention.key):
            nn.init.normal_(layer.weight, std=std / 10)
        nn.init.zeros_(attention.score)


class RNNsearchInitializer(Initializer):
    """Normal weights, zero biases; the output layer as built.

    Args:
        std: standard deviation of the weights.
    """

    reaches_output = False

    def __init__(self, std: float):
        self.std = std

    def fill(self, owner: nn.Module, name: str, parameter: nn.Parameter) -> None:
        if "bias" in name:
            nn.init.zeros_(parameter)
        else:
            nn.init.normal_(parameter, std=self.std)
