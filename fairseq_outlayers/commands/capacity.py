"""Effective capacity and parameters of output layers.

The effective capacity of Pappas et al. (2018), eqs. 8-10 and 16, counts parameters that only the
output uses, without inner biases of a projection. The parameter counts are those of models built on
the meta device.
"""

import argparse
from types import SimpleNamespace
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
from fairseq.data import Dictionary

from fairseq_outlayers.commands.base import Command
from fairseq_outlayers.commands.tables import table
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models.luong_lstm import LuongLSTM, LuongLSTMConfig
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from fairseq_outlayers.ranges import DEEPEST, WIDEST

FEWEST_CLASSES = 5  # fairseq's four special symbols and a word
MOST_CLASSES = 10_000_000


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


def _variants(joint_dims: List[int]) -> Iterator[Tuple[str, Optional[int]]]:
    """Output layers that depend on sizes only, with every ``--joint-dim`` where they have one."""
    for name, layer in OUTPUT_LAYERS.items():
        if layer.depends_on_words:
            continue
        dims = joint_dims if "joint_dim" in layer.Config.__dataclass_fields__ else [None]
        yield from ((name, joint_dim) for joint_dim in dims)


def _between(smallest: int, largest: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        if not text.isdecimal() or len(text) > 20 or int(text) < smallest:
            raise argparse.ArgumentTypeError(f"{text}: must be a whole number, {smallest} or more")
        if int(text) > largest:
            raise argparse.ArgumentTypeError(f"{text}: must be at most {largest:,}")
        return int(text)

    return whole_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    classes, size = _between(FEWEST_CLASSES, MOST_CLASSES), _between(1, WIDEST)
    parser.add_argument(
        "--num-classes",
        type=classes,
        required=True,
        metavar="V",
        help="size of the target dictionary, fairseq's four special symbols included",
    )
    parser.add_argument("--embed-dim", type=size, default=512, metavar="D", help="d (default: 512)")
    parser.add_argument(
        "--hidden-size", type=size, default=512, metavar="H", help="d_h (default: 512)"
    )
    parser.add_argument(
        "--joint-dim",
        type=size,
        nargs="+",
        default=[512, 2048, 4096],
        metavar="J",
        help="one d_j or several (default: 512 2048 4096)",
    )
    parser.add_argument(
        "--layers",
        type=_between(1, DEEPEST),
        default=2,
        metavar="L",
        help="layers of luong_lstm's encoder, and of its decoder (default: 2)",
    )
    parser.add_argument(
        "--source-classes",
        type=classes,
        metavar="V",
        help="size of the source dictionary (default: that of the target dictionary)",
    )


def run(options: argparse.Namespace) -> None:
    """Print capacity and parameters of every output layer, and the range of d_j of eq. 17."""
    sizes = Sizes(options.num_classes, options.embed_dim, options.hidden_size)
    factory = ModelFactory(sizes, options.source_classes or sizes.classes, options.layers)
    counts = factory.counts("linear")
    print(
        f"|V| = {sizes.classes:,}, d = {sizes.embedding:,}, d_h = {sizes.hidden:,}; luong_lstm, "
        f"{options.layers}+{options.layers} layers: {counts.core:,} parameters in LSTMs and "
        f"attention, {counts.embeddings:,} in the embeddings of both sides\n"
    )
    heading = ("output layer", "d_j", "capacity C", "parameters", "whole model", "")
    rows: List[Tuple[str, ...]] = [heading]
    reasons = []
    bounds = joint_dim_bounds(sizes)
    for name, joint_dim in _variants(options.joint_dim):
        try:
            rows.append(_row(factory, sizes, name, joint_dim, bounds))
        except UserError as error:
            reasons.append(f"not built: {error}")
    print(table(rows) + "\n")
    words = ", ".join(name for name, layer in OUTPUT_LAYERS.items() if layer.depends_on_words)
    print(_choice(bounds), *reasons, f"not shown, they depend on the words: {words}", sep="\n")


def _row(
    factory: ModelFactory,
    sizes: Sizes,
    name: str,
    joint_dim: Optional[int],
    bounds: Optional[Tuple[int, int]],
) -> Tuple[str, ...]:
    counts = factory.counts(name, **({} if joint_dim is None else {"joint_dim": joint_dim}))
    capacity = CAPACITIES[name](sizes, joint_dim or 0) if name in CAPACITIES else None
    inside = joint_dim is None or (bounds is not None and bounds[0] <= joint_dim <= bounds[1])
    return (
        name,
        "" if joint_dim is None else f"{joint_dim:,}",
        "-" if capacity is None else f"{capacity:,}",
        f"{counts.output_layer:,}",
        f"{counts.whole:,}",
        "" if inside else "outside",
    )


def _choice(bounds: Optional[Tuple[int, int]]) -> str:
    holds = f"{bounds[0]:,} <= d_j <= {bounds[1]:,}" if bounds else "no d_j at all"
    return f"C_bilinear <= C_joint <= C_linear (Pappas et al. 2018, eq. 17) holds for {holds}"


COMMAND = Command(
    summary="Print the capacity and the parameters of every output layer, to choose d_j by",
    example="--num-classes 32000 --embed-dim 512 --hidden-size 512 --joint-dim 512 2048 4096",
    add_arguments=add_arguments,
    run=run,
)
