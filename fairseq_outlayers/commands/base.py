"""What every command of ``python -m fairseq_outlayers`` is made of."""

import argparse
from typing import Callable, NamedTuple


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


def add_data_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--data`` for loading checkpoints."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with the model's dictionaries (default: the one it was trained on)",
    )


def between(smallest: int, largest: int) -> Callable[[str], int]:
    """An argparse type: a whole number in a range."""

    def whole_number(text: str) -> int:
        if not text.isdecimal() or len(text) > 20 or int(text) < smallest:
            raise argparse.ArgumentTypeError(f"{text}: must be a whole number, {smallest} or more")
        if int(text) > largest:
            raise argparse.ArgumentTypeError(f"{text}: must be at most {largest:,}")
        return int(text)

    return whole_number
