"""Show what a checkpoint stores and what is regenerated from a seed."""

import argparse
from pathlib import Path

from fairseq_outlayers.commands.base import Command, add_checkpoint


def run(options: argparse.Namespace) -> None:
    """Print the table of one checkpoint."""
    from fairseq_outlayers.analysis.stored_weights import checkpoint_report

    print(checkpoint_report(Path(options.checkpoint)), end="")


COMMAND = Command(
    example="checkpoints/checkpoint_best.pt",
    add_arguments=lambda parser: add_checkpoint(parser, "checkpoint of fairseq-train"),
    run=run,
)
