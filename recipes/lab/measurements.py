"""Files of measurements with their settings, commit and machine."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from recipes.lab import ledger
from recipes.lab.scores import scoring

# At start, because the checkout may change while measuring.
COMMIT = ledger.commit()
Arm = TypeVar("Arm")


def in_turns(arms: Iterable[Arm], rounds: int) -> Iterator[tuple[int, Arm]]:
    """The number of the round, from 0, and an arm: all arms in every round, in shuffled order."""
    every, shuffler = list(arms), random.Random(0)
    for number in range(rounds):
        for arm in shuffler.sample(every, len(every)):
            yield number, arm


def write(output: Path, rows: list[dict], **settings: Any) -> None:
    """Write settings, commit, machine, versions and rows as JSON, atomically; prints the path."""
    origin = {"commit": COMMIT, "machine": ledger.machine(), "versions": ledger.versions()}
    output.parent.mkdir(parents=True, exist_ok=True)
    scoring.write_json(output, {**settings, **origin, "rows": rows}, ascii_only=True)
    print(output)
