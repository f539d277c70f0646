"""Add new words to a trained model, each described by words that it knows."""

import argparse
from pathlib import Path

from fairseq_outlayers.commands.base import Command, add_checkpoint, add_data_argument
from fairseq_outlayers.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser, "the trained model")
    add_data_argument(parser)
    parser.add_argument(
        "--descriptions",
        required=True,
        metavar="FILE",
        help="lines of a new word, a tab and words of the target dictionary that describe it",
    )
    parser.add_argument(
        "--bias",
        type=float,
        metavar="B",
        help="of the new classes; a higher bias makes them more frequent (default: the mean bias "
        "of the known words)",
    )
    parser.add_argument(
        "--output",
        required=True,
        type=Path,
        metavar="DIR",
        help="folder to write checkpoint.pt and the dictionaries to",
    )


def run(options: argparse.Namespace) -> None:
    """Add the words of a file; write a checkpoint and its dictionaries."""
    import torch

    from fairseq_outlayers.checkpoints import loading
    from fairseq_outlayers.checkpoints.unseen_words import (
        add_words,
        described_vector,
        read_descriptions,
        save,
    )

    descriptions = read_descriptions(options.descriptions)
    trained = loading.load(options.checkpoint, options.data)
    vectors = []
    for word, description in descriptions.items():
        try:
            vectors.append(described_vector(trained, description))
        except UserError as error:
            raise UserError(f"{options.descriptions}: {word} is {error}") from error
    if not vectors:
        raise UserError(f"--descriptions {options.descriptions}: describes no word")
    add_words(trained, list(descriptions), torch.stack(vectors), options.bias)
    save(trained, options.checkpoint, options.output)
    print(
        f"added {len(vectors)} words: {options.output / 'checkpoint.pt'} and dictionaries beside it"
    )


COMMAND = Command(
    example="joint.pt --data data-bin --descriptions new_words.tsv --output extended",
    add_arguments=add_arguments,
    run=run,
)
