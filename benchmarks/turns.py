"""Arms that take turns in one process, and how their figures are written down."""

import random
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

# The recipes write figures down as well; benchmarks are scripts, which see their own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recipes.lab import measurements


def take_turns(arms: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of every arm in every round; each round runs all arms, in an order of its own."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    order = list(arms)
    shuffler = random.Random(0)
    for number in range(rounds + 1):
        shuffler.shuffle(order)
        for name in order:
            start = time.perf_counter()
            arms[name]()
            if number > 0:  # the first round warms up
                times[name].append(time.perf_counter() - start)
    return times


def ratios(numerator: list[float], denominator: list[float]) -> list[float]:
    """Round by round, ascending: whatever else the machine did hit both arms of a round alike."""
    return sorted(n / d for n, d in zip(numerator, denominator, strict=True))


def spread(values: list[float]) -> str:
    """The median, the smallest and the largest."""
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def write(output: Path, settings: dict, rows: list[dict]) -> None:
    """A JSON file of the rows and the options that they were measured with; says where it is."""
    said = {name: str(value) for name, value in settings.items()}
    measurements.write(output, rows, settings=said)
