"""A run that ends within an epoch ends the thread that makes its batches first."""

import os
import subprocess
import sys

import pytest

from tests.system.commands import ROOT

# A batch takes long to make, as of thousands of sentences, and there is room for all of them.
MAKING_BATCHES = """
import torch
import fairseq_outlayers
from fairseq.data.iterators import BufferedIterator

class Batches:
    def __len__(self):
        return 1_000_000

    def __iter__(self):
        rows, row = torch.zeros(500, 9, dtype=torch.long), torch.ones(9, dtype=torch.long)
        while True:
            for number in range(500):
                rows[number].copy_(row)
            yield rows

batches = BufferedIterator({size}, Batches())
for _ in range(3):
    next(batches)
print("saved")
"""


@pytest.mark.system
@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_process_that_ends_while_a_batch_is_made_is_not_aborted(size):
    """It is aborted in most cases where the thread is left to the end of the interpreter."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", MAKING_BATCHES.replace("{size}", str(size))],
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "saved\n", "")
