"""RNMT+ (Chen et al. 2018): deep recurrent translation, fully trained.

The baseline of Garg et al. (2020), and the skeleton of their echo state models (``esnmt.py``).
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Callable, Tuple

import torch.nn as nn
from fairseq.models import register_model

from fairseq_outlayers.decoders.rnmt import RNMTDecoder
from fairseq_outlayers.decoders.rnmt_stack import DecoderStack
from fairseq_outlayers.encoders.lstm import LSTMEncoder
from fairseq_outlayers.encoders.rnmt_stack import EncoderStack
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.attention.multi_head_additive import MultiHeadAdditiveAttention
from fairseq_outlayers.layers.init_range import PublishedInit, init_spread
from fairseq_outlayers.layers.initialization import Uniform, reset_parameters
from fairseq_outlayers.layers.recurrent.layer_norm_lstm import LayerNormLSTM
from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer
from fairseq_outlayers.models.base import AttentionalModel
from fairseq_outlayers.options import OutputLayerConfig, SourceEmbeddingConfig, register_size
from fairseq_outlayers.output_layers import build_output_layer
from fairseq_outlayers.ranges import depth, ranged, share, width
from fairseq_outlayers.source_embeddings import SourceEmbedding

# (layer's name within the model, input size) -> layer.
MakeLayer = Callable[[str, int], RecurrentLayer]

PUBLISHED_INIT = PublishedInit(0.04, 512)  # of RNMT+, at the width of Garg et al. (2020)


@dataclass
class RNMTPlusConfig(OutputLayerConfig, SourceEmbeddingConfig):
    embed_dim: int = width(512, "dimensions of the source and target embeddings")
    hidden_size: int = width(512, "size of the states, per direction in the encoder")
    encoder_layers: int = depth(6, "bidirectional encoder layers")
    decoder_layers: int = depth(6, "decoder layers")
    attention_heads: int = depth(4, "heads of the additive attention")
    share_all_embeddings: bool = field(
        default=False,
        metadata={"help": "one embedding table for both sides; requires a joined dictionary"},
    )
    dropout: float = share(0.3, "dropout on the embeddings and on every layer's output")
    init_range: float = ranged(
        0.0,
        "initialize parameters uniformly in [-init_range, init_range]; 0: 0.04 as in RNMT+ at "
        "--hidden-size 512, scaled for other sizes to preserve the variance of products (0.08 at "
        "128)",
        at_least=0,
        at_most=100,
    )


class RNMTSkeleton(AttentionalModel):
    """Bidirectional encoder, additive attention, decoder; subclasses provide the layers."""

    @classmethod
    def check_options(cls, cfg: Any) -> None:
        if cfg.hidden_size % cfg.attention_heads:
            raise UserError(
                f"--attention-heads {cfg.attention_heads} must divide --hidden-size "
                f"{cfg.hidden_size}"
            )

    @classmethod
    def build_encoder(cls, cfg: Any, dictionary: Any, embedding: SourceEmbedding) -> LSTMEncoder:
        size, (make_layer, _) = cfg.hidden_size, cls.layer_makers(cfg)
        inputs = [cfg.embed_dim] + [2 * size] * (cfg.encoder_layers - 1)
        layers = [
            (
                make_layer(f"encoder.layers.{depth}.forward", input_size),
                make_layer(f"encoder.layers.{depth}.backward", input_size),
            )
            for depth, input_size in enumerate(inputs)
        ]
        stack = EncoderStack(layers, nn.Linear(2 * size, size), cfg.dropout)
        return LSTMEncoder(dictionary, embedding, stack, cfg.dropout)

    @classmethod
    def build_decoder(cls, cfg: Any, dictionary: Any, embedding: nn.Embedding) -> RNMTDecoder:
        size, (_, make_layer) = cfg.hidden_size, cls.layer_makers(cfg)
        inputs = [cfg.embed_dim + size] + [2 * size] * (cfg.decoder_layers - 1)
        layers = [
            make_layer(f"decoder.layers.{depth}", input_size)
            for depth, input_size in enumerate(inputs)
        ]
        attention = MultiHeadAdditiveAttention(size, cfg.attention_heads)
        stack = DecoderStack(layers, attention, cfg.dropout)
        output_layer = build_output_layer(cfg, embedding, 2 * size, dictionary)
        return RNMTDecoder(dictionary, embedding, stack, output_layer, cfg.dropout)

    @classmethod
    def initializer(cls, cfg: Any) -> Uniform:
        return Uniform(init_spread(cfg.init_range, cfg.hidden_size, PUBLISHED_INIT))

    def reset_parameters(self, cfg: Any) -> None:
        initializer = self.initializer(cfg)
        reset_parameters(self, initializer, apart=(RecurrentLayer,))
        for layer in (module for module in self.modules() if isinstance(module, RecurrentLayer)):
            layer.reset_parameters(initializer.bound)

    @classmethod
    @abstractmethod
    def layer_makers(cls, cfg: Any) -> Tuple[MakeLayer, MakeLayer]:
        """Factories of the encoder's and the decoder's layers."""
        raise NotImplementedError(f"{cls.__name__} does not define layer_makers")


@register_model("rnmt_plus", dataclass=RNMTPlusConfig)
class RNMTPlus(RNMTSkeleton):
    """RNMT+ with layer-normed LSTMs, fully trained: the baseline of Garg et al. (2020)."""

    gates = 4

    @classmethod
    def layer_makers(cls, cfg: Any) -> Tuple[MakeLayer, MakeLayer]:
        make = trained_layers(cfg)
        return make, make


def trained_layers(cfg: Any) -> MakeLayer:
    """Factory of RNMT+'s trained layers."""
    return lambda name, input_size: LayerNormLSTM(input_size, cfg.hidden_size)


SIZES = {"512": {}, "2048": {"embed_dim": 2048, "hidden_size": 2048}}
for _size, _options in SIZES.items():
    register_size(
        f"rnmt_plus_{_size}", RNMTPlus, f"The baseline of Garg et al. at {_size}.", **_options
    )
