"""Small files that expand to more than memory holds are refused before they are read."""

import gzip
import resource
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.faults import warm, world

pytestmark = [pytest.mark.system, pytest.mark.faults]
MEMORY = 300 << 20  # bytes that a command may take; each bomb expands to more
EXPANDED = 600 << 20


def one_line(path):
    """A compressed vector file of one line that does not end."""
    packer = zlib.compressobj(9, wbits=31)
    with open(path, "wb") as file:
        file.write(packer.compress(b"2 3\nword "))
        for _ in range(EXPANDED >> 20):
            file.write(packer.compress(b"0 " * (1 << 19)))
        file.write(packer.flush())


def candidates(path):
    """Candidates with an array of zeros of which there are too many."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez_compressed(path, **{**arrays, "targets": np.zeros(EXPANDED >> 2, np.int32)})


def many_members(path):
    """One compressed member after the other."""
    member = gzip.compress(b"1" * (1 << 24))
    path.write_bytes(member * (EXPANDED >> 24))


EXTRACT = "extract_embeddings --vectors words.vec.gz --format vec --train train.xx --output new"
BOMBS = {
    "vectors of one line": (one_line, "words.vec.gz", EXTRACT),
    "vectors in many parts": (many_members, "words.vec.gz", EXTRACT),
    "vectors of no known format": (one_line, "words.vec.gz", EXTRACT.replace("--format vec ", "")),
    "candidates": (candidates, "candidates.npz", f"{world.GENERATE} {world.CANDIDATES}"),
}


def scarce():
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_expands_beyond_memory_is_refused_in_one_line(name, damaged_copy, tally):
    write, file, line = BOMBS[name]
    write(damaged_copy / file)
    assert (damaged_copy / file).stat().st_size < EXPANDED // 100
    outcome = warm.run(line, folder=damaged_copy, before=scarce)
    for counted in ("bad inputs", "bad inputs: files that expand"):
        tally(counted)[outcome.kind] += 1
    assert outcome.kind == "clear", (outcome.kind, outcome.err[-2000:])
    assert "memory" not in outcome.errors[0].lower(), outcome.errors
