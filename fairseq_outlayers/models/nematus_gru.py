"""The translation model of Nematus (Sennrich et al. 2017), as Di Gangi & Federico (2017) use it.

A bidirectional GRU encoder, a conditional GRU decoder with additive attention, a deep readout, any
source embedding and any output layer.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, Sequence

import torch.nn as nn
from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model
from torch import Tensor

from fairseq_outlayers.decoders.conditional_gru import ConditionalGRU
from fairseq_outlayers.decoders.nematus import DeepReadout, NematusDecoder
from fairseq_outlayers.encoders.gru import GRUEncoder
from fairseq_outlayers.layers.attention.additive import AdditiveAttention
from fairseq_outlayers.layers.init_range import PublishedInit, init_spread
from fairseq_outlayers.layers.initialization import Initializer, reset_parameters
from fairseq_outlayers.layers.recurrent.left_padded_gru import LeftPaddedGRU
from fairseq_outlayers.models.base import AttentionalModel
from fairseq_outlayers.options import OutputLayerConfig, SourceEmbeddingConfig, register_size
from fairseq_outlayers.output_layers import build_output_layer
from fairseq_outlayers.ranges import optional_width, ranged, share, width
from fairseq_outlayers.source_embeddings import SourceEmbedding

PUBLISHED_INIT = PublishedInit(0.01, 500)


@dataclass
class NematusGRUConfig(OutputLayerConfig, SourceEmbeddingConfig):
    embed_dim: int = width(500, "dimensions of the embeddings and of the readout")
    hidden_size: int = width(500, "size of the GRU states, per direction in the encoder")
    attention_size: int = optional_width(
        0, "size of the attention's hidden layer; 0: that of the encoder states"
    )
    dropout: float = share(0.0, "dropout on the encoder states and on the readout")
    embedding_dropout: float = share(0.0, "dropout on source and target embeddings")
    init_square: ChoiceEnum(["orthogonal", "normal"]) = field(  # type: ignore[valid-type]
        default="orthogonal",
        metadata={
            "help": "initialization of square matrices, per gate: orthogonal, as in Nematus, or "
            "normal; recurrent ones are always orthogonal"
        },
    )
    init_std: float = ranged(
        0.0,
        "standard deviation of initial weights that are not orthogonal; 0: 0.01 as in Nematus at "
        "--hidden-size 500 of Di Gangi & Federico (2017), scaled for other sizes to preserve the "
        "variance of products (0.02 at 128)",
        at_least=0,
        at_most=100,
    )


@register_model("nematus_gru", dataclass=NematusGRUConfig)
class NematusGRU(AttentionalModel):
    """Bidirectional GRU encoder, conditional GRU decoder, deep readout, as in Nematus.

    The model of Di Gangi & Federico (2017), with any source embedding and any output layer.
    """

    gates = 3

    @classmethod
    def build_encoder(cls, cfg: Any, dictionary: Any, embedding: SourceEmbedding) -> GRUEncoder:
        gru = LeftPaddedGRU(cfg.embed_dim, cfg.hidden_size)
        return GRUEncoder(dictionary, embedding, gru, cfg.embedding_dropout, cfg.dropout)

    @classmethod
    def build_decoder(cls, cfg: Any, dictionary: Any, embedding: nn.Embedding) -> NematusDecoder:
        size, context_size = cfg.hidden_size, 2 * cfg.hidden_size
        attention = AdditiveAttention(size, context_size, cfg.attention_size or context_size)
        return NematusDecoder(
            dictionary,
            embedding,
            ConditionalGRU(cfg.embed_dim, size, attention, context_size),
            DeepReadout(size, cfg.embed_dim, context_size),
            build_output_layer(cfg, embedding, cfg.embed_dim, dictionary),
            nn.Linear(context_size, size),
            cfg.embedding_dropout,
            cfg.dropout,
        )

    @classmethod
    def initializer(cls, cfg: Any) -> "NematusInitializer":
        std = init_spread(cfg.init_std, cfg.hidden_size, PUBLISHED_INIT)
        return NematusInitializer(std, cfg.init_square == "orthogonal")

    def reset_parameters(self, cfg: Any) -> None:
        initializer = self.initializer(cfg)
        initializer.names = {id(parameter): name for name, parameter in self.named_parameters()}
        reset_parameters(self, initializer)


class NematusInitializer(Initializer):
    """Nematus's initialization: square matrices orthogonal, others normal, zero biases.

    The readout is never orthogonal, as in Nematus; the output layer initializes itself.

    Args:
        std: of the normal ones.
        orthogonal: if False, only recurrent matrices are orthogonal.
    """

    reaches_output = False

    def __init__(self, std: float, orthogonal: bool):
        self.std, self.orthogonal = std, orthogonal
        self.names: Dict[int, str] = {}
        """Names of the model's parameters by ``id``."""

    def fill(self, owner: nn.Module, name: str, parameter: nn.Parameter) -> None:
        name = self.names[id(parameter)]
        if "bias" in name:
            nn.init.zeros_(parameter)
            return
        recurrent = "weight_hh" in name
        if not recurrent:
            nn.init.normal_(parameter, std=self.std)
        exempt = isinstance(owner, nn.Embedding) or "readout" in name
        if recurrent or (self.orthogonal and not exempt):
            for matrix in _separate_matrices(name, parameter.detach()):
                if matrix.dim() == 2 and matrix.size(0) == matrix.size(1):
                    nn.init.orthogonal_(matrix)


def _separate_matrices(name: str, parameter: Tensor) -> Sequence[Tensor]:
    """Split one of our parameters into the matrices that Nematus draws separately."""
    if "second.weight_ih" in name:  # from the context: both gates together, the candidate
        size = len(parameter) // 3
        return parameter.split([2 * size, size])
    return parameter.chunk(3) if "weight_" in name else [parameter]


# The models of Di Gangi & Federico (2017).
register_size(
    "nematus_only_external",
    NematusGRU,
    "External vectors instead of source embeddings, with a map per direction.",
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
