"""``python -m fairseq_outlayers``: the path for ``--user-dir``, and the commands.

PyTorch and fairseq are imported by the commands alone, so that the path and the help are quick.
"""

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, NoReturn, Optional

from fairseq_outlayers.suggestions import explain_choice, explain_unknown

if TYPE_CHECKING:
    from fairseq_outlayers.commands.base import Command


class Listed(NamedTuple):
    """A command that has not been imported: its module in ``commands/``, and what it does."""

    module: str
    summary: str


LISTED: Dict[str, Listed] = {
    "options": Listed(
        "options",
        "Print every option of this package, in Markdown",
    ),
    "capacity": Listed(
        "capacity",
        "Print the capacity and the parameters of every output layer, to choose d_j by",
    ),
    "checkpoint": Listed(
        "checkpoint",
        "Say what a checkpoint holds and what a seed regenerates",
    ),
    "export": Listed(
        "export",
        "Write a model whose output layer is baked into a class matrix",
    ),
    "inspect": Listed(
        "inspect",
        "Translate a test set and write a page with scores, sentences and attention",
    ),
    "partitions": Listed(
        "partitions",
        "Say into which partitions --partition-size divides a corpus",
    ),
    "partition-correction": Listed(
        "partition_correction",
        "Correct the class biases of a model that was trained by partitions",
    ),
    "frequency-bins": Listed(
        "frequency_bins",
        "Score translations by how often the training text has the words",
    ),
    "neighbours": Listed(
        "neighbours",
        "Print the nearest neighbours of words in the input and in the output space of models",
    ),
    "unseen-words": Listed(
        "unseen_words",
        "Add words that a model has never seen, each described by words that it knows",
    ),
    "echo-gain": Listed(
        "echo_gains",
        "What a frozen layer of esnmt does to the size of its inputs, at the start",
    ),
    "external-words": Listed(
        "external_words",
        "Count the words of a text that a model with external vectors knows, and show examples",
    ),
    "open-vocabulary": Listed(
        "open_vocabulary",
        "Print the perplexity of a text whose unseen words are scored as themselves",
    ),
    "principal-components": Listed(
        "principal_components",
        "Count the principal components that the input and the output vectors of words use",
    ),
    "transform-gates": Listed(
        "transform_gates",
        "Say how far the transform gates of composed word vectors are open",
    ),
}


class Commands(Mapping[str, "Command"]):
    """The commands by name; asking for one imports it."""

    def __getitem__(self, name: str) -> "Command":
        package = importlib.import_module("fairseq_outlayers")
        package.register()
        return importlib.import_module(f"fairseq_outlayers.commands.{LISTED[name].module}").COMMAND

    def __iter__(self) -> Iterator[str]:
        return iter(LISTED)

    def __len__(self) -> int:
        return len(LISTED)


COMMANDS: Mapping[str, "Command"] = Commands()


class HelpfulParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, with what was probably meant."""

    given: List[str] = []  # noqa: RUF012 (set before it is read)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.given = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        subparsers = [a.choices for a in self._actions if isinstance(a, argparse._SubParsersAction)]
        parsers = [self, *(parser for named in subparsers for parser in named.values())]
        said = explain_unknown(parsers, self.given, explain_choice(self, message))
        self.exit(2, f"{self.prog}: error: {said}\n")


def main(arguments: Optional[List[str]] = None) -> int:
    """Run one command; without one, print the path for ``--user-dir``."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = HelpfulParser(
        prog="python -m fairseq_outlayers",
        description="Without a command: print the path to pass to fairseq as --user-dir.",
        epilog="example: fairseq-train data-bin --user-dir $(python -m fairseq_outlayers) "
        "--arch luong_lstm --output-layer tied --criterion full_softmax ...",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (_, summary) in LISTED.items():
        subparser = subparsers.add_parser(name, help=summary)
        if arguments[:1] == [name]:
            COMMANDS[name].prepare(subparser)
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        print(Path(__file__).resolve().parent)
    else:
        COMMANDS[chosen.command].run(chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
