"""``python -m fairseq_outlayers``: the path for ``--user-dir``, and what the package can tell."""

import argparse
import sys
from pathlib import Path
from typing import List, Optional


def main(arguments: Optional[List[str]] = None) -> int:
    """Run one command; without one, print the path for ``--user-dir``."""
    parser = argparse.ArgumentParser(
        prog="python -m fairseq_outlayers",
        description="Without a command: print the path to pass to fairseq as --user-dir.",
        epilog="example: fairseq-train data-bin --user-dir $(python -m fairseq_outlayers) "
        "--arch luong_lstm --output-layer tied --criterion full_softmax ...",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("options", help="print every option of this package, in Markdown")
    checkpoint = commands.add_parser(
        "checkpoint", help="say what a checkpoint holds and what a seed regenerates"
    )
    checkpoint.add_argument("path", type=Path, metavar="FILE")
    parsed = parser.parse_args(arguments)
    command = parsed.command
    if command is None:
        print(Path(__file__).resolve().parent)
    elif command == "options":
        from fairseq_outlayers.options import options_page

        print(options_page(), end="")
    elif command == "checkpoint":
        from fairseq_outlayers.checkpoint_report import checkpoint_report

        print(checkpoint_report(parsed.path), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
