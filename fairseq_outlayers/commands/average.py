"""Average checkpoints of one training."""

import argparse
from pathlib import Path

from fairseq_outlayers.commands.base import Command, add_checkpoints


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoints(parser, "of one training; all but the parameters is that of the last one given")
    parser.add_argument(
        "--output", required=True, type=Path, metavar="FILE", help="the new checkpoint"
    )


def run(options: argparse.Namespace) -> None:
    """Write the average and print its size."""
    from fairseq_outlayers.checkpoints.averaging import average

    number = average(options.checkpoints, options.output)
    print(f"averaged {number:,} parameters of {len(options.checkpoints)} checkpoints")
    print(options.output)


COMMAND = Command(
    example="checkpoints/checkpoint8.pt checkpoints/checkpoint9.pt --output checkpoints/average.pt",
    add_arguments=add_arguments,
    run=run,
)
