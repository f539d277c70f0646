"""``python -m fairseq_outlayers``: the path for ``--user-dir``, and what the package can tell."""

import argparse
import sys
from pathlib import Path
from typing import Dict, List, Optional

from fairseq_outlayers.commands import (
    capacity,
    checkpoint,
    echo_gains,
    export,
    external_words,
    frequency_bins,
    inspect,
    neighbours,
    open_vocabulary,
    options,
    partition_correction,
    partitions,
    principal_components,
    transform_gates,
    unseen_words,
)
from fairseq_outlayers.commands.base import Command

COMMANDS: Dict[str, Command] = {
    "options": options.COMMAND,
    "capacity": capacity.COMMAND,
    "checkpoint": checkpoint.COMMAND,
    "export": export.COMMAND,
    "inspect": inspect.COMMAND,
    "partitions": partitions.COMMAND,
    "partition-correction": partition_correction.COMMAND,
    "frequency-bins": frequency_bins.COMMAND,
    "neighbours": neighbours.COMMAND,
    "unseen-words": unseen_words.COMMAND,
    "echo-gain": echo_gains.COMMAND,
    "external-words": external_words.COMMAND,
    "open-vocabulary": open_vocabulary.COMMAND,
    "principal-components": principal_components.COMMAND,
    "transform-gates": transform_gates.COMMAND,
}


def main(arguments: Optional[List[str]] = None) -> int:
    """Run one command; without one, print the path for ``--user-dir``."""
    parser = argparse.ArgumentParser(
        prog="python -m fairseq_outlayers",
        description="Without a command: print the path to pass to fairseq as --user-dir.",
        epilog="example: fairseq-train data-bin --user-dir $(python -m fairseq_outlayers) "
        "--arch luong_lstm --output-layer tied --criterion full_softmax ...",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.prepare(subparsers.add_parser(name, help=command.summary))
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        print(Path(__file__).resolve().parent)
    else:
        COMMANDS[chosen.command].run(chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
