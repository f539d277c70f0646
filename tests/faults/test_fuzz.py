"""Hypothesis damages files: every reader reads them or refuses them in words for users."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings

from tests.faults import fuzz
from tests.faults.conftest import ALL

pytestmark = pytest.mark.faults
READERS = 18
FILES = 10_000
EXAMPLES = -(-FILES // READERS) if ALL else 15


@pytest.fixture(scope="module")
def complete(good):
    """The good world with the two files that only readers here need."""
    (good / "units").write_text("wort\tw o r t\nbaum\tb a u m\n")
    (good / "proposal").write_text("yy1\t1\nyy2 0.5\n")
    return good


@pytest.mark.parametrize("number", range(READERS))
def test_a_damaged_file_is_read_or_refused(number, complete, tmp_path, tally):
    every = list(fuzz.readers(complete))
    assert len(every) == READERS
    reader = every[number]
    names = itertools.count()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(fuzz.damages)
    def try_one(hurts):
        folder = tmp_path / str(next(names))
        folder.mkdir()
        path = fuzz.damaged(complete, reader, hurts, folder)
        try:
            reader.read(path)
            outcome = "read"
        except fuzz.refusals():
            outcome = "refused"
        fuzz.clean(folder)
        tally("fuzzed files")[outcome] += 1
        tally(f"fuzzed files: {reader.name}")[outcome] += 1

    try_one()
