"""Output layers. To add one: write its file, add its line to ``OUTPUT_LAYERS``."""

from typing import Any, Dict, Optional, Type

import torch.nn as nn

from fairseq_outlayers.output_layers.base import EmbeddingOutputLayer, OutputLayer
from fairseq_outlayers.output_layers.bilinear import BilinearOutputLayer
from fairseq_outlayers.output_layers.context_structure import ContextStructureOutputLayer
from fairseq_outlayers.output_layers.deep_residual import DeepResidualOutputLayer
from fairseq_outlayers.output_layers.external_joint import ExternalJointOutputLayer
from fairseq_outlayers.output_layers.joint import JointOutputLayer
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.output_layers.output_structure import OutputStructureOutputLayer
from fairseq_outlayers.output_layers.subword_composed import SubwordOutputLayer
from fairseq_outlayers.output_layers.tied import TiedOutputLayer
from fairseq_outlayers.registry import Selection

OUTPUT_LAYERS: Dict[str, Type[OutputLayer]] = {
    "linear": LinearOutputLayer,
    "tied": TiedOutputLayer,
    "bilinear": BilinearOutputLayer,
    "output_structure": OutputStructureOutputLayer,
    "context_structure": ContextStructureOutputLayer,
    "joint": JointOutputLayer,
    "deep_residual": DeepResidualOutputLayer,
    "subword": SubwordOutputLayer,
    "external_joint": ExternalJointOutputLayer,
}

OUTPUT_LAYER = Selection(
    OUTPUT_LAYERS,
    option="output_layer",
    default="linear",
    help_text="how classes (words of the target vocabulary) are scored",
)


def build_output_layer(
    config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
) -> OutputLayer:
    """Build the layer ``config.output_layer``; all of our models use this.

    Args:
        config: of a model, with the fields of ``OutputLayerConfig``.
        embedding: the decoder's input embeddings, ``(V, d)``.
        hidden_size: size of the decoder states.
        dictionary: the target dictionary.
    Raises:
        UserError: if the name is unknown, the layer does not support the sizes, it has an
            undeclared table, or its methods return other shapes than the interface says.
    """
    layer = OUTPUT_LAYER.choose(config).build(config, embedding, hidden_size, dictionary)
    layer.check_tables()
    layer.check_shapes(hidden_size)
    return layer


def output_layer_of(model: Any) -> Optional[OutputLayer]:
    """A model's output layer, also through a data-parallel wrapper; None if it is not ours."""
    layer = getattr(getattr(model, "decoder", None), "output_projection", None)
    return layer if isinstance(layer, OutputLayer) else None


__all__ = [
    "OUTPUT_LAYER",
    "OUTPUT_LAYERS",
    "BilinearOutputLayer",
    "ContextStructureOutputLayer",
    "DeepResidualOutputLayer",
    "EmbeddingOutputLayer",
    "ExternalJointOutputLayer",
    "JointOutputLayer",
    "LinearOutputLayer",
    "OutputLayer",
    "OutputStructureOutputLayer",
    "SubwordOutputLayer",
    "TiedOutputLayer",
    "build_output_layer",
    "output_layer_of",
]
