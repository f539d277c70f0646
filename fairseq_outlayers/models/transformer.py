"""fairseq's Transformers, translation and language model, with any output layer.

Every architecture name of fairseq's ``transformer`` and ``transformer_lm`` exists a second time
with the ending ``_outlayers`` and takes ``--output-layer`` beside all of fairseq's own options,
those of ``transformer`` also ``--source-embedding``.
"""

from argparse import Namespace
from dataclasses import dataclass
from typing import Any

from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import (
    ARCH_CONFIG_REGISTRY,
    ARCH_MODEL_INV_REGISTRY,
    register_model,
    register_model_architecture,
)
from fairseq.models.transformer import TransformerDecoderBase, TransformerModel
from fairseq.models.transformer_lm import TransformerLanguageModel, TransformerLanguageModelConfig

from fairseq_outlayers.encoders.transformer_source import WithSourceEmbedding
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models.checks import check_model
from fairseq_outlayers.models.dictionary_check import register_dictionaries
from fairseq_outlayers.options import OutputLayerConfig, SourceEmbeddingConfig, add_selection
from fairseq_outlayers.output_layers import build_output_layer
from fairseq_outlayers.output_layers.compiled import CompilesOutputLayer
from fairseq_outlayers.reservoirs.transformer import FrozenLayersConfig, freeze_layers


class WithOutputLayer(CompilesOutputLayer):
    """Mix-in, in front of a stock model: builds that model, then gives it its output layer."""

    @classmethod
    def build_model(cls, args: Any, task: Any) -> Any:
        check_options(args)
        check_model(args, OutputLayerConfig, task)
        model = super().build_model(args, task)  # type: ignore[misc]
        install_output_layer(model.decoder, args, task.target_dictionary)
        register_dictionaries(model, task)
        return model


@register_model("transformer_outlayers")
class OutlayersTransformer(WithOutputLayer, WithSourceEmbedding, TransformerModel):
    """fairseq's Transformer: any output layer, any source embedding, frozen layers if asked for."""

    @classmethod
    def add_args(cls, parser: Any) -> None:
        TransformerModel.add_args(parser)
        add_selection(parser, OutputLayerConfig)
        add_selection(parser, SourceEmbeddingConfig)
        gen_parser_from_dataclass(parser, FrozenLayersConfig())

    @classmethod
    def build_model(cls, args: Any, task: Any) -> Any:
        model = super().build_model(args, task)
        freeze_layers(model, args)
        return model


@dataclass
class OutlayersTransformerLMConfig(TransformerLanguageModelConfig, OutputLayerConfig):
    pass


@register_model("transformer_lm_outlayers", dataclass=OutlayersTransformerLMConfig)
class OutlayersTransformerLM(WithOutputLayer, TransformerLanguageModel):
    """fairseq's Transformer language model with any output layer."""


def check_options(args: Any) -> None:
    """Refuse stock options that contradict ``--output-layer``."""
    if getattr(args, "adaptive_softmax_cutoff", None) is not None:
        raise UserError(
            f"--adaptive-softmax-cutoff {args.adaptive_softmax_cutoff} and --output-layer exclude "
            "each other: an adaptive softmax is an output layer of its own, so choose fairseq's "
            "architecture of the same name without _outlayers for it"
        )
    shared = getattr(args, "share_decoder_input_output_embed", False)
    if (shared or getattr(args, "share_all_embeddings", False)) and args.output_layer == "linear":
        raise UserError(
            "--share-decoder-input-output-embed or --share-all-embeddings (given, or set by the "
            "--arch) ties the output to the input embeddings, and --output-layer linear does not: "
            "pass --output-layer tied"
        )


def install_output_layer(decoder: TransformerDecoderBase, args: Any, dictionary: Any) -> None:
    """Put the layer that ``args.output_layer`` names in the place of fairseq's projection."""
    decoder.output_projection = build_output_layer(
        args, decoder.embed_tokens, decoder.output_embed_dim, dictionary
    )
    # fairseq would look for the weight of its own tied projection in checkpoints; ours has none.
    decoder.share_input_output_embed = False


def has_adaptive_softmax(arch: str) -> bool:
    """Whether a stock architecture comes with an output layer of its own."""
    args = Namespace()
    ARCH_CONFIG_REGISTRY[arch](args)
    return getattr(args, "adaptive_softmax_cutoff", None) is not None


def register_sizes() -> None:
    """Give every named size of the two stock models its twin ``NAME_outlayers``."""
    for stock in ("transformer", "transformer_lm"):
        for arch in list(ARCH_MODEL_INV_REGISTRY[stock]):
            if arch != stock and not has_adaptive_softmax(arch):
                register_model_architecture(f"{stock}_outlayers", f"{arch}_outlayers")(
                    ARCH_CONFIG_REGISTRY[arch]
                )
    register_model_architecture("transformer_outlayers", "transformer_outlayers")(
        ARCH_CONFIG_REGISTRY["transformer"]
    )


register_sizes()
