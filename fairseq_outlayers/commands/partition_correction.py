"""Correct the class biases of a model trained by partitions without correction."""

import argparse
from pathlib import Path

from fairseq_outlayers.commands.base import Command, add_checkpoint


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser, "the trained model")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with the training text (default: the training data)",
    )
    parser.add_argument(
        "--output", required=True, type=Path, metavar="FILE", help="the new checkpoint"
    )


def run(options: argparse.Namespace) -> None:
    """Correct one checkpoint and print the size of the corrections."""
    from fairseq_outlayers.checkpoints.partition_correction import correct

    added = correct(options.checkpoint, options.output, options.data)
    least, middle, most = (float(added.quantile(q)) for q in (0.0, 0.5, 1.0))
    print(
        f"added log shares to {len(added):,} class biases: from {least:.3f} to {most:.3f}, median "
        f"{middle:.3f}\n{options.output}"
    )


COMMAND = Command(
    example="checkpoints/checkpoint_best.pt --output checkpoints/corrected.pt",
    add_arguments=add_arguments,
    run=run,
)
