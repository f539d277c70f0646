"""Time of verifying the checksums of a checkpoint, compared with loading it.

    PYTHONPATH=. python benchmarks/checkpoint_checksums.py --megabytes 400

A checkpoint of random weights is written, then verified and loaded alternately, from the page
cache.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median

import torch
import turns

from fairseq_outlayers.checkpoints.integrity import find_damage


def main() -> None:
    """Measure, print the ratio, write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the checkpoint")
    parser.add_argument("--rounds", type=int, default=5)
    turns.add_device(parser)
    parser.add_argument(
        "--output", type=Path, default=Path("results/benchmarks/checkpoint_checksums.json")
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "checkpoint.pt")
        # As in a model with a large vocabulary: mostly a few tables.
        rows = options.megabytes * 1_000_000 // (4 * 4 * 1024)
        torch.save({f"table{k}": torch.randn(rows, 1024) for k in range(4)}, path)
        gigabytes = Path(path).stat().st_size / 1e9
        arms = {
            "check": lambda: find_damage(path),
            "load": lambda: torch.load(path, map_location=options.device),
        }
        times = turns.take_turns(arms, options.rounds)
    ratios = turns.ratios(times["check"], times["load"])
    per_gigabyte = median(times["check"]) / gigabytes
    print(f"check: {per_gigabyte:.2f} s/GB, {turns.spread(ratios)} of the time that loading takes")
    rows = [{"check_seconds_per_gb": per_gigabyte, "check_by_load": ratios}]
    turns.write(options.output, vars(options), rows)


if __name__ == "__main__":
    main()
