"""``python -m fairseq_outlayers``: the path for ``--user-dir``, and the commands.

A command imports PyTorch and fairseq only when it runs, so printing the path or a help is fast.
"""

import argparse
import importlib
import importlib.util
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional

import fairseq_outlayers
from fairseq_outlayers.commands.base import checkpoints_first
from fairseq_outlayers.formats.text import escape_unprintable_words
from fairseq_outlayers.suggestions import HelpfulParser

if TYPE_CHECKING:
    from fairseq_outlayers.commands.base import Command


# What each command does, one sentence without a full stop; its module in commands/ has _ for -.
LISTED: Dict[str, str] = {
    "options": "Print every option of this package, in Markdown",
    "capacity": (
        "Print the capacity and the parameters of every output layer, to help choose --joint-dim"
    ),
    "average": "Average the parameters of several checkpoints of one training",
    "checkpoint": "Show what a checkpoint stores and what is regenerated from a seed",
    "export": "Write a model whose output layer is baked into a class matrix",
    "inspect": "Translate a test set and write a page with scores, sentences and attention",
    "partitions": "Show how --partition-size divides a corpus into partitions",
    "partition-correction": "Correct the class biases of a model that was trained by partitions",
    "frequency-bins": "Score translations by the training frequency of their words",
    "neighbours": (
        "Print the nearest neighbours of words in the input and in the output space of models"
    ),
    "unseen-words": "Add new words to a trained model, each described by words that it knows",
    "echo-gain": "Print by how much a frozen layer of esnmt scales its inputs at initialization",
    "external-words": (
        "Count the words of a text that a model with external vectors knows, and show examples"
    ),
    "open-vocabulary": "Print the perplexity of a text, with unseen words scored as themselves",
    "principal-components": (
        "Count the principal components that the input and the output vectors of words use"
    ),
    "transform-gates": "Print how open the transform gates of composed word vectors are",
}


class Commands(Mapping[str, "Command"]):
    """Commands by name, imported on access."""

    def __getitem__(self, name: str) -> "Command":
        module = name.replace("-", "_")
        return importlib.import_module(f"fairseq_outlayers.commands.{module}").COMMAND

    def __iter__(self) -> Iterator[str]:
        return iter(LISTED)

    def __len__(self) -> int:
        return len(LISTED)


COMMANDS: Mapping[str, "Command"] = Commands()


class _Version(argparse.Action):
    """Prints versions without importing the packages."""

    def __call__(self, *_: Any) -> None:
        print(f"fairseq_outlayers {fairseq_outlayers.__version__}")
        print(_first_installed("fairseq-fixed", "fairseq"))
        print(_first_installed("torch"))
        print("Python", sys.version.split()[0])
        sys.exit(0)


def _first_installed(*names: str) -> str:
    """Name and version of the first package that is installed."""
    from importlib.metadata import PackageNotFoundError

    for name in names:
        with suppress(PackageNotFoundError):
            return f"{name} {_installed(name)}"
    return f"{names[0]} is not installed"


def _installed(name: str) -> str:
    """The version of a package, of PyTorch with its build (``+cpu``, ``+cu130``).

    Raises:
        PackageNotFoundError: if it is not installed.
    """
    from importlib.metadata import version
    from importlib.util import find_spec
    from runpy import run_path

    installed = version(name)
    found = find_spec(name) if name == "torch" else None
    if found is None or found.origin is None:
        return installed
    # The metadata of wheels from PyPI lacks the build.
    return str(run_path(str(Path(found.origin).with_name("version.py")))["__version__"])


def main(arguments: Optional[List[str]] = None) -> int:
    """Run one command; without one, print the path for ``--user-dir``."""
    escape_unprintable_words()
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = HelpfulParser(
        prog="python -m fairseq_outlayers",
        description="Without a command: print the path to pass to fairseq as --user-dir.",
        epilog='example: fairseq-train data-bin --user-dir "$(python -m fairseq_outlayers)" '
        "--arch luong_lstm --output-layer tied --criterion full_softmax ...",
    )
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        help="print the versions of this package, fairseq, PyTorch and Python",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in LISTED.items():
        subparser = subparsers.add_parser(name, help=summary, description=f"{summary}.")
        if arguments[:1] == [name]:
            COMMANDS[name].prepare(subparser)
            arguments = [name, *checkpoints_first(subparser, arguments[1:])]
    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        print(Path(__file__).resolve().parent)
    elif importlib.util.find_spec("fairseq") is None:
        parser.exit(
            1,
            f"error: {chosen.command} needs fairseq, which is not installed: "
            "see docs/installing.md\n",
        )
    else:
        fairseq_outlayers.register()
        COMMANDS[chosen.command].run(chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
