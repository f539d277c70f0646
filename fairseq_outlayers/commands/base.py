"""What every command of ``python -m fairseq_outlayers`` is made of."""

import argparse
from typing import Callable, List, NamedTuple, Sequence


class Command(NamedTuple):
    """A command's example, arguments and function. User mistakes raise ``UserError``.

    ``run`` imports what it needs when it is called, so that the help does not import PyTorch.
    """

    example: str  # arguments that follow the command's name
    add_arguments: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], None]

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        """Add the example and the arguments of this command to a parser."""
        parser.epilog = f"example:\n  {parser.prog} {self.example}"
        # Not wrapped, so that the example can be copied.
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        self.add_arguments(parser)


def add_checkpoint(parser: argparse.ArgumentParser, description: str) -> None:
    """Add one checkpoint as a positional argument, ``checkpoint``."""
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help=description)


def add_checkpoints(parser: argparse.ArgumentParser, description: str) -> None:
    """Add one or more checkpoints as positional arguments, ``checkpoints``."""
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT", help=description)


def checkpoints_first(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> List[str]:
    """The arguments of a command, with those of ``--path`` in front, where checkpoints belong.

    fairseq's commands have this option, so whoever writes it here means the checkpoints.
    """
    positional = {action.dest for action in parser._actions}
    if not positional & {"checkpoint", "checkpoints"}:
        return list(arguments)
    several = "checkpoints" in positional
    values: List[str] = []
    rest: List[str] = []
    given = list(arguments)
    while given:
        argument = given.pop(0)
        if argument.startswith("--path="):
            values.append(argument.removeprefix("--path="))
        elif argument == "--path":
            while given and not given[0].startswith("-"):
                values.append(given.pop(0))
                if not several:
                    break
        else:
            rest.append(argument)
    return [*values, *rest]


def add_data_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--data`` for loading checkpoints."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with the model's dictionaries (default: the one it was trained on)",
    )
