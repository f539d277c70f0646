"""fairseq's Transformers, translation and language model, with any output layer.

For every architecture name of fairseq's ``transformer`` and ``transformer_lm`` there is a
``NAME_outlayers``, which takes ``--output-layer`` in addition to fairseq's options; those of
``transformer`` also take ``--source-embedding``.
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

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.initialization import AsBuilt
from fairseq_outlayers.models.checks import check_model
from fairseq_outlayers.models.dictionary_check import register_dictionaries
from fairseq_outlayers.models.transformer_source import WithSourceEmbedding
from fairseq_outlayers.options import OutputLayerConfig, SourceEmbeddingConfig, add_selection
from fairseq_outlayers.output_layers import build_output_layer
from fairseq_outlayers.output_layers.compiled import CompilesOutputLayer
from fairseq_outlayers.reservoirs.transformer import FrozenLayersConfig, freeze_layers


class WithOutputLayer(CompilesOutputLayer):
    """Mix-in for a stock model, first in its bases: builds it and replaces its output layer."""

    @classmethod
    def build_model(cls, args: Any, task: Any) -> Any:
        check_options(args)
        check_model(args, OutputLayerConfig, task)
        model = super().build_model(args, task)  # type: ignore[misc]
        install_output_layer(model.decoder, args, task.target_dictionary)
        model.decoder.output_projection.reset_parameters(AsBuilt())
        register_dictionaries(model, task)
        return model


@register_model("transformer_outlayers")
class OutlayersTransformer(WithOutputLayer, WithSourceEmbedding, TransformerModel):
    """fairseq's Transformer with any output layer or source embedding, optionally frozen layers."""

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
            f"--adaptive-softmax-cutoff {args.adaptive_softmax_cutoff}: the Transformers of this "
            "package have no adaptive softmax: leave it out and use --criterion sampled_softmax or "
            "full_softmax, or use fairseq's architecture of the same name without _outlayers, with "
            "--criterion adaptive_loss"
        )
    if getattr(args, "tie_adaptive_weights", False):
        raise UserError(
            "--tie-adaptive-weights ties an adaptive softmax, which the Transformers of this "
            "package do not have: leave it out"
        )
    if getattr(args, "adaptive_input", False) and not args.adaptive_input_cutoff:
        raise UserError("--adaptive-input needs --adaptive-input-cutoff: add it")
    shared = getattr(args, "share_decoder_input_output_embed", False)
    if (shared or getattr(args, "share_all_embeddings", False)) and args.output_layer == "linear":
        raise UserError(
            "--share-decoder-input-output-embed or --share-all-embeddings (given, or set by the "
            "--arch) ties the output to the input embeddings, but --output-layer linear does not: "
            "use --output-layer tied"
        )


def install_output_layer(decoder: TransformerDecoderBase, args: Any, dictionary: Any) -> None:
    """Replace fairseq's projection by ``args.output_layer``.

    Raises:
        UserError: if the layer has a class per input word, but the output dictionary is smaller.
    """
    layer = build_output_layer(args, decoder.embed_tokens, decoder.output_embed_dim, dictionary)
    if layer.num_classes > len(dictionary):
        raise UserError(
            f"--output-dictionary-size {len(dictionary)}: --output-layer {args.output_layer} uses "
            f"the input embeddings, so it scores all {layer.num_classes} words: leave the size "
            "out, or use --output-layer linear"
        )
    decoder.output_projection = layer
    # Otherwise fairseq expects the weight of its tied projection in checkpoints.
    decoder.share_input_output_embed = False


def has_adaptive_softmax(arch: str) -> bool:
    """Whether a stock architecture has an adaptive softmax by default."""
    args = Namespace()
    ARCH_CONFIG_REGISTRY[arch](args)
    return getattr(args, "adaptive_softmax_cutoff", None) is not None


def register_sizes() -> None:
    """Register ``NAME_outlayers`` for every named size of the two stock models."""
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
