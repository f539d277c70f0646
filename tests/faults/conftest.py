"""A warm process and a small good world; how many faults to try, and what to count."""

import contextlib
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
import torch

from tests.faults import report, warm, world

ALL = os.environ.get("OUTLAYERS_FAULTS") == "all"
FIGURES = os.environ.get("OUTLAYERS_FAULTS_FIGURES")


def some(items, few, key=None):
    """All of them under ``make faults``; under ``make test`` a few, evenly spaced."""
    items = list(items)
    return items if ALL or len(items) <= few else items[:: max(1, len(items) // few)][:few]


def can_be_forked():
    """Whether gradients can be computed in a fork: not once autograd has threads for devices."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(RuntimeError):
            torch.ones(1, requires_grad=True).sum().backward()
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


@pytest.fixture(scope="session")
def good(tmp_path_factory):
    """The good world; nobody writes into it."""
    if not can_be_forked():
        pytest.skip("a process that has computed gradients beside the pretended device cannot be "
                    "forked: run pytest tests/faults by itself, as make test does")  # fmt: skip
    warm.warm_up()
    return world.build(tmp_path_factory.mktemp("good"))


@pytest.fixture
def damaged_copy(good, tmp_path):
    """A copy of the good world to be damaged."""
    return shutil.copytree(good, tmp_path / "copy")


@pytest.fixture(scope="session")
def tally():
    """Counts by topic; written as JSON where ``make faults`` wants them."""
    counts = {}
    yield lambda topic: counts.setdefault(topic, Counter())
    if FIGURES:
        # Each of pytest-xdist's workers has counts of its own; report.py adds them up.
        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        report.write(Path(FIGURES) / f"{worker}.{os.getpid()}.json", counts)
