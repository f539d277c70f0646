"""RNMT+ (Chen et al. 2018): deep recurrent translation, fully trained.

The baseline of Garg et al. (2020), and the skeleton of their echo state models: ``esnmt.py`` puts
other layers into it.
"""

from dataclasses import dataclass, field
from typing import Any, Callable, Tuple

import torch.nn as nn
from fairseq.models import register_model

from fairseq_outlayers.decoders.rnmt import RNMTDecoder
from fairseq_outlayers.encoders.lstm import LSTMEncoder
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.attention.multi_head_additive import MultiHeadAdditiveAttention
from fairseq_outlayers.layers.recurrent.layer_norm_lstm import LayerNormLSTM
from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer
from fairseq_outlayers.layers.recurrent.rnmt_stacks import DecoderStack, EncoderStack
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

# From the layer's name within the model and its number of inputs.
MakeLayer = Callable[[str, int], RecurrentLayer]


@dataclass
class RNMTPlusConfig(OutputLayerConfig, SourceEmbeddingConfig):
    embed_dim: int = width(512, "dimensions of the source and target embeddings")
    hidden_size: int = width(512, "size of the states; the encoder has as many in each direction")
    encoder_layers: int = depth(6, "bidirectional encoder layers")
    decoder_layers: int = depth(6, "decoder layers")
    attention_heads: int = depth(4, "heads of the additive attention")
    share_all_embeddings: bool = field(
        default=False,
        metadata={"help": "one embedding table for both sides; needs a joined dictionary"},
    )
    dropout: float = share(0.3, "dropout on the embeddings and on every layer's output")
    init_range: float = ranged(
        0.04, "parameters start uniform in [-init_range, init_range]", at_least=0, at_most=100
    )


class RNMTSkeleton(AttentionalModel):
    """Bidirectional encoder, additive attention, decoder; the layers are the subclasses' affair."""

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> "RNMTSkeleton":
        check_options(cfg, task)
        size = cfg.hidden_size
        source, target = task.source_dictionary, task.target_dictionary
        embeddings = make_embeddings(cfg, source, target)
        make_encoder_layer, make_decoder_layer = cls.layer_makers(cfg)
        inputs = [cfg.embed_dim] + [2 * size] * (cfg.encoder_layers - 1)
        encoder_layers = [
            (
                make_encoder_layer(f"encoder.layers.{depth}.forward", input_size),
                make_encoder_layer(f"encoder.layers.{depth}.backward", input_size),
            )
            for depth, input_size in enumerate(inputs)
        ]
        inputs = [cfg.embed_dim + size] + [2 * size] * (cfg.decoder_layers - 1)
        decoder_layers = [
            make_decoder_layer(f"decoder.layers.{depth}", input_size)
            for depth, input_size in enumerate(inputs)
        ]
        encoder = EncoderStack(encoder_layers, nn.Linear(2 * size, size), cfg.dropout)
        attention = MultiHeadAdditiveAttention(size, cfg.attention_heads)
        decoder = DecoderStack(decoder_layers, attention, cfg.dropout)
        output_layer = build_output_layer(cfg, embeddings[1], 2 * size, target)
        model = cls(
            LSTMEncoder(source, embeddings[0], encoder, cfg.dropout),
            RNMTDecoder(target, embeddings[1], decoder, output_layer, cfg.dropout),
        )
        initialise(model, cfg.init_range)
        model.freeze(cfg)
        register_dictionaries(model, task)
        return model

    @classmethod
    def layer_makers(cls, cfg: Any) -> Tuple[MakeLayer, MakeLayer]:
        """What makes the layers of the encoder, and those of the decoder."""
        raise NotImplementedError

    def freeze(self, cfg: Any) -> None:
        """Freeze what is not to be trained, outside the recurrent layers."""


@register_model("rnmt_plus", dataclass=RNMTPlusConfig)
class RNMTPlus(RNMTSkeleton):
    """RNMT+ with layer-normed LSTMs, fully trained: the baseline of Garg et al. (2020)."""

    @classmethod
    def layer_makers(cls, cfg: Any) -> Tuple[MakeLayer, MakeLayer]:
        make = trained_layers(cfg)
        return make, make


def trained_layers(cfg: Any) -> MakeLayer:
    """Makes the trained layer of RNMT+."""
    return lambda name, input_size: LayerNormLSTM(input_size, cfg.hidden_size)


def make_embeddings(cfg: Any, source: Any, target: Any) -> Tuple[SourceEmbedding, nn.Embedding]:
    """Source and target embeddings, perhaps one table."""
    if cfg.share_all_embeddings:
        shared = InternalSourceEmbedding(len(source), cfg.embed_dim, source.pad(), source.unk())
        return shared, shared
    return (
        build_source_embedding(cfg, source, cfg.embed_dim, bidirectional=True),
        nn.Embedding(len(target), cfg.embed_dim, target.pad()),
    )


def initialise(model: Any, bound: float) -> None:
    """Parameters uniform, but those of layers that have a start of their own."""
    layers = [layer for layer in model.modules() if isinstance(layer, RecurrentLayer)]
    own = {id(parameter) for layer in layers for parameter in layer.parameters()}
    for parameter in model.parameters():
        if id(parameter) not in own:
            nn.init.uniform_(parameter, -bound, bound)
    for layer in layers:
        layer.reset_parameters(bound)
    model.encoder.embed_tokens.zero_padding()
    target = model.decoder.embed_tokens
    nn.init.zeros_(target.weight[target.padding_idx].detach())


def check_options(cfg: Any, task: Any) -> None:
    """Refuse what cannot be built, before anything is."""
    check_model(cfg, RNMTPlusConfig, task)
    if cfg.hidden_size % cfg.attention_heads:
        raise UserError(
            f"--attention-heads {cfg.attention_heads} must divide --hidden-size {cfg.hidden_size}"
        )
    if cfg.share_all_embeddings:
        refuse_with_shared_embeddings(cfg)
    if cfg.share_all_embeddings and task.source_dictionary != task.target_dictionary:
        raise UserError(
            "--share-all-embeddings needs one dictionary for both languages: binarize the data "
            "with fairseq-preprocess --joined-dictionary"
        )


SIZES = {"512": {}, "2048": {"embed_dim": 2048, "hidden_size": 2048}}
for _size, _options in SIZES.items():
    register_size(
        f"rnmt_plus_{_size}", RNMTPlus, f"The baseline of Garg et al. at {_size}.", **_options
    )
