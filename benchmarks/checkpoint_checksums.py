"""Time of verifying the checksums of a checkpoint, compared with loading it.

    PYTHONPATH=. python benchmarks/checkpoint_checksums.py --megabytes 400

A checkpoint of random weights is written, then verified and loaded alternately, from the page
cache.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import torch

from fairseq_outlayers.checkpoints.integrity import damage


def seconds(function, *arguments) -> tuple[float, float]:
    """Wall-clock and CPU time of a call."""
    start = time.perf_counter(), time.process_time()
    function(*arguments)
    return time.perf_counter() - start[0], time.process_time() - start[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000, help="size of the checkpoint")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu", help="device that the weights are loaded to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "checkpoint.pt")
        # As in a model with a large vocabulary: mostly a few tables.
        rows = options.megabytes * 1_000_000 // (4 * 4 * 1024)
        torch.save({f"table{k}": torch.randn(rows, 1024) for k in range(4)}, path)
        size = Path(path).stat().st_size
        checked, loaded = [], []
        for _ in range(options.rounds):
            checked.append(seconds(damage, path))
            loaded.append(seconds(lambda: torch.load(path, map_location=options.device)))
    result: dict[str, object] = {"megabytes": round(size / 1e6)}
    for k, clock in enumerate(("wall", "processor")):
        check, load = ([times[k] for times in rounds] for rounds in (checked, loaded))
        result[clock] = {
            "check_seconds": [round(value, 3) for value in sorted(check)],
            "load_seconds": [round(value, 3) for value in sorted(load)],
            "check_seconds_per_gb": round(statistics.median(check) / size * 1e9, 2),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
