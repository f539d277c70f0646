"""Hypothesis damages files: every reader reads them or refuses them in words for users."""

import contextlib
import gzip
import itertools
import resource
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.faults import fuzz, warm
from tests.faults.conftest import ALL

pytestmark = pytest.mark.faults
READERS = 24
FILES = 10_000
MEMORY = 1 << 30  # bytes
EXAMPLES = -(-FILES // READERS) if ALL else 15


@pytest.fixture(scope="module")
def complete(good):
    """The good world with the files that only readers here need."""
    (good / "units").write_text("wort\tw o r t\nbaum\tb a u m\n")
    (good / "proposal").write_text("yy1\t1\nyy2 0.5\n")
    (good / "descriptions").write_text("new\tyy1 yy2\nother\tyy3\n")
    (good / "links").write_text("0-0 1-1 2-2\n" * 80)
    (good / "words.vec.gz").write_bytes(gzip.compress((good / "words.vec").read_bytes()))
    pieces = "--method sentencepiece --vocabulary-size 20"
    subwords = "--method fasttext --buckets 9 --dimensions 4 --epochs 1"
    for line in (
        f"segment learn --inputs train.xx --output pieces {pieces}",
        f"train_embeddings --input train.xx --output subwords.bin {subwords}",
    ):
        assert warm.run(line, folder=good).kind == "accepted"
    return good


@contextlib.contextmanager
def bounded_memory():
    """What one reader may take: a small file that says it is large must not be believed."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


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
            with bounded_memory():
                reader.read(path)
            outcome = "read"
        except fuzz.refusals():
            outcome = "refused"
        fuzz.clean(folder)
        tally("fuzzed files")[outcome] += 1
        tally(f"fuzzed files: {reader.name}")[outcome] += 1

    try_one()
