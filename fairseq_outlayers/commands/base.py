"""A command line that works as a script and as a command of ``python -m fairseq_outlayers``."""

import argparse
from typing import Callable, List, NamedTuple, Optional


class Command(NamedTuple):
    """What a command does and takes.

    Mistakes of the user's are raised as ``UserError``, which the package shows in one line.
    """

    summary: str  # one sentence, without a full stop
    example: str  # the options, as they would follow the command
    add_arguments: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], None]

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        """Give a parser the description, the example and the arguments of this command."""
        parser.description = f"{self.summary}."
        parser.epilog = f"example:\n  {parser.prog} {self.example}"
        # Unwrapped, an example can be copied.
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        self.add_arguments(parser)

    def main(self, module: str, arguments: Optional[List[str]] = None) -> None:
        """Run it as ``python -m module``."""
        parser = argparse.ArgumentParser(prog=f"python -m {module}")
        self.prepare(parser)
        self.run(parser.parse_args(arguments))


def add_data_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--data``, which ``checkpoints.loading.load`` takes."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with the model's dictionaries (default: the one it was trained on)",
    )
