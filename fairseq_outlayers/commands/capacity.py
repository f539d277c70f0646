"""Print the effective capacity and the parameters of output layers."""

import argparse

from fairseq_outlayers.commands.base import Command
from fairseq_outlayers.commands.tables import table
from fairseq_outlayers.ranges import DEEPEST, WIDEST
from fairseq_outlayers.suggestions import between

FEWEST_CLASSES = 5  # fairseq's four special symbols and a word
MOST_CLASSES = 10_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    classes, size = between(FEWEST_CLASSES, MOST_CLASSES), between(1, WIDEST)
    parser.add_argument(
        "--num-classes",
        type=classes,
        required=True,
        metavar="V",
        help="size of the target dictionary, fairseq's four special symbols included",
    )
    parser.add_argument(
        "--embed-dim",
        type=size,
        default=512,
        metavar="D",
        help="size d of embeddings (default: 512)",
    )
    parser.add_argument(
        "--hidden-size",
        type=size,
        default=512,
        metavar="H",
        help="size d_h of decoder states (default: 512)",
    )
    parser.add_argument(
        "--joint-dim",
        type=size,
        nargs="+",
        default=[512, 2048, 4096],
        metavar="J",
        help="sizes d_j of the joint space to list (default: 512 2048 4096)",
    )
    parser.add_argument(
        "--layers",
        type=between(1, DEEPEST),
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
    from fairseq_outlayers.analysis.capacity import ModelFactory, Sizes, compare

    sizes = Sizes(options.num_classes, options.embed_dim, options.hidden_size)
    factory = ModelFactory(sizes, options.source_classes or sizes.classes, options.layers)
    counts = factory.counts("linear")
    print(
        f"|V| = {sizes.classes:,}, d = {sizes.embedding:,}, d_h = {sizes.hidden:,}; luong_lstm, "
        f"{options.layers}+{options.layers} layers: {counts.core:,} parameters in LSTMs and "
        f"attention, {counts.embeddings:,} in the embeddings of both sides\n"
    )
    found = compare(factory, options.joint_dim)
    rows = [
        (
            layer.name,
            "" if layer.joint_dim is None else f"{layer.joint_dim:,}",
            "-" if layer.capacity is None else f"{layer.capacity:,}",
            f"{layer.counts.output_layer:,}",
            f"{layer.counts.whole:,}",
            "" if layer.within_bounds else "outside",
        )
        for layer in found.layers
    ]
    print(table([("output layer", "d_j", "capacity C", "parameters", "whole model", ""), *rows]))
    holds = "{:,} <= d_j <= {:,}".format(*found.bounds) if found.bounds else "no d_j at all"
    print(f"\nC_bilinear <= C_joint <= C_linear (Pappas et al. 2018, eq. 17) holds for {holds}")
    for reason in found.refused:
        print(f"not built: {reason}")
    print(f"not shown, they depend on the words: {', '.join(found.by_words)}")


COMMAND = Command(
    example="--num-classes 32000 --embed-dim 512 --hidden-size 512 --joint-dim 512 2048 4096",
    add_arguments=add_arguments,
    run=run,
)
