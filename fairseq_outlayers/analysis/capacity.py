"""Effective capacity and parameters of output layers.

The effective capacity of Pappas et al. (2018), eqs. 8-10 and 16, counts parameters that only the
output uses, without inner biases of a projection. The parameter counts are those of models built on
the meta device.
"""

from types import SimpleNamespace
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
import torch.nn as nn
from fairseq.data import Dictionary

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models.luong_lstm import LuongLSTM, LuongLSTMConfig
from fairseq_outlayers.output_layers import OUTPUT_LAYERS


class Sizes(NamedTuple):
    """``|V|``, ``d`` and ``d_h``."""

    classes: int
    embedding: int
    hidden: int


# Pappas et al. (2018); the last argument is d_j. The paper gives none for the other layers.
CAPACITIES: Dict[str, Callable[[Sizes, int], int]] = {
    "linear": lambda sizes, _: sizes.classes * sizes.hidden + sizes.classes,  # eq. 8
    "tied": lambda sizes, _: sizes.classes,  # eq. 9 and the sentence after eq. 10
    "bilinear": lambda sizes, _: sizes.embedding * sizes.hidden + sizes.classes,  # eq. 10
    "joint": lambda sizes, joint: (
        sizes.embedding * joint + joint * sizes.hidden + sizes.classes  # eq. 16
    ),
}


def joint_dim_bounds(sizes: Sizes) -> Optional[Tuple[int, int]]:
    """The smallest and the largest ``d_j`` with ``C_bilinear <= C_joint <= C_base`` (eq. 17).

    None if there is no such ``d_j``.
    """
    both = sizes.embedding + sizes.hidden
    smallest = -(-sizes.embedding * sizes.hidden // both)
    largest = sizes.classes * sizes.hidden // both
    return (smallest, largest) if smallest <= largest else None


class Counts(NamedTuple):
    """Trained parameters of a ``luong_lstm``."""

    output_layer: int
    embeddings: int
    core: int  # the rest: LSTMs and attention
    whole: int


class ModelFactory:
    """Builds ``luong_lstm`` models that differ in the output layer, on the meta device.

    Args:
        sizes: of the target side.
        source_classes: words of the source dictionary.
        layers: number in the encoder, and in the decoder.
    """

    def __init__(self, sizes: Sizes, source_classes: int, layers: int):
        self.sizes = sizes
        self.options: Dict[str, Any] = {
            "embed_dim": sizes.embedding,
            "hidden_size": sizes.hidden,
            "encoder_layers": layers,
            "decoder_layers": layers,
        }
        self.task = SimpleNamespace(
            source_dictionary=_dictionary(source_classes),
            target_dictionary=_dictionary(sizes.classes),
        )

    def counts(self, output_layer: str, **options: Any) -> Counts:
        """Parameters of the model with ``--output-layer output_layer`` and other options.

        Raises:
            UserError: if these sizes do not allow the layer.
        """
        config = LuongLSTMConfig(output_layer=output_layer, **self.options, **options)
        with torch.device("meta"):
            model = LuongLSTM.build_model(config, self.task)
        output = _parameters(model.decoder.output_projection)
        embeddings = _parameters(model.encoder.embed_tokens) + _parameters(
            model.decoder.embed_tokens
        )
        whole = _parameters(model)
        return Counts(output, embeddings, whole - output - embeddings, whole)


def _dictionary(size: int) -> Dictionary:
    dictionary = Dictionary()
    for number in range(size - len(dictionary)):
        dictionary.add_symbol(f"w{number}")
    return dictionary


def _parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


class LayerCapacity(NamedTuple):
    """One output layer, with one ``d_j`` if it has one."""

    name: str
    joint_dim: Optional[int]
    capacity: Optional[int]  # None if the paper gives none
    counts: Counts
    within_bounds: bool  # of eq. 17


class Comparison(NamedTuple):
    """All output layers at given sizes."""

    bounds: Optional[Tuple[int, int]]  # of eq. 17
    layers: List[LayerCapacity]
    refused: List[str]  # why a layer cannot have these sizes
    by_words: List[str]  # layers whose parameters depend on the words


def compare(factory: ModelFactory, joint_dims: List[int]) -> Comparison:
    """Every output layer, with every ``d_j`` where it has one."""
    found = Comparison(joint_dim_bounds(factory.sizes), [], [], [])
    for name, layer in OUTPUT_LAYERS.items():
        if layer.depends_on_words:
            found.by_words.append(name)
            continue
        has_joint_dim = "joint_dim" in layer.Config.__dataclass_fields__
        dims: Sequence[Optional[int]] = joint_dims if has_joint_dim else [None]
        for joint_dim in dims:
            try:
                found.layers.append(_layer_capacity(factory, name, joint_dim, found.bounds))
            except UserError as error:
                found.refused.append(str(error))
    return found


def _layer_capacity(
    factory: ModelFactory, name: str, joint_dim: Optional[int], bounds: Optional[Tuple[int, int]]
) -> LayerCapacity:
    options = {} if joint_dim is None else {"joint_dim": joint_dim}
    capacity = CAPACITIES[name](factory.sizes, joint_dim or 0) if name in CAPACITIES else None
    within = joint_dim is None or (bounds is not None and bounds[0] <= joint_dim <= bounds[1])
    return LayerCapacity(name, joint_dim, capacity, factory.counts(name, **options), within)
