"""Print how a corpus is divided into partitions, before training."""

import argparse
from pathlib import Path

from fairseq_outlayers.commands.base import Command
from fairseq_outlayers.errors import changes_nothing
from fairseq_outlayers.suggestions import between


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data",
        type=Path,
        metavar="DATA",
        help="made by fairseq-preprocess; of several (bin1:bin2), a table for each",
    )
    parser.add_argument(
        "--partition-size", type=int, required=True, metavar="N", help="most target words of one"
    )
    parser.add_argument(
        "--partition-mode",
        choices=["paper", "authors"],
        default="paper",
        help="as in training (default: paper)",
    )
    parser.add_argument(
        "--source-partition-size",
        type=int,
        default=0,
        metavar="N",
        help="most source words of one (default: no limit)",
    )
    parser.add_argument(
        "--reshuffle-partitions",
        action="store_true",
        help="show the shuffled partitions of epoch 1 (of folder n: of epoch n)",
    )
    parser.add_argument(
        "--seed",
        type=between(0, 2**32 - 1),
        metavar="N",
        help="random seed of --reshuffle-partitions (default: 1)",
    )
    parser.add_argument("--source-lang", metavar="LANG", help="default: that of the data")
    parser.add_argument("--target-lang", metavar="LANG", help="default: that of the data")


def run(options: argparse.Namespace) -> None:
    """Print the table of partitions."""
    from fairseq_outlayers.analysis.partition_report import partition_report

    if not options.reshuffle_partitions and options.seed is not None:
        raise changes_nothing(
            "seed", options.seed, "without --reshuffle-partitions", "add that, or leave it out"
        )
    options.seed = 1 if options.seed is None else options.seed
    print(partition_report(options), end="")


COMMAND = Command(
    example="data-bin --partition-size 15000",
    add_arguments=add_arguments,
    run=run,
)
