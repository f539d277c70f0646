"""Prints where a file of each arm's newest run is, for the commands that take such files.

    python recipes/run_files.py results/mine/ledger.jsonl test.tokenised.hyp --arms tied joint

One path a line, of the first seed that has the file (--all-seeds: of each), in the order of --arms;
with --names, ARM=PATH. Left out are arms that were not run, and those whose file is neither kept
beside the ledger nor on this machine.
"""

import argparse
import sys
from pathlib import Path

import ledger
from recorded_runs import Runs


def main(arguments: list[str] | None = None) -> int:
    """Print the paths that exist."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    parser.add_argument("file", help="as seen from the run folder")
    parser.add_argument("--arms", nargs="+", required=True)
    parser.add_argument("--all-seeds", action="store_true", help="not of the first seed alone")
    parser.add_argument("--names", action="store_true", help="say which arm each file is of")
    options = parser.parse_args(arguments)
    try:
        runs = Runs(ledger.read(options.ledger))
    except ValueError as error:
        print(f"run_files: {error}", file=sys.stderr)
        return 2
    for arm in options.arms:
        paths = runs.files(arm, options.file)
        for path in paths if options.all_seeds else paths[:1]:
            print(f"{arm}={path}" if options.names else path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
