"""The watch over other processes ends before the interpreter does."""

import os
import subprocess
import sys

import pytest

from tests.system.commands import ROOT

# It counts without a pause: so it is within the store when the interpreter ends.
COUNTING = """
import time
from datetime import timedelta
from torch.distributed import TCPStore
from fairseq_outlayers.patches.required import rank_watch

rank_watch.INTERVAL = 0.0
store = TCPStore("127.0.0.1", 0, 1, True, timedelta(seconds=30))
watch = rank_watch.RankWatch(store.clone(), 0, 2, 30.0).start()
time.sleep(0.2)
"""


@pytest.mark.system
def test_a_process_that_ends_while_it_counts_is_not_aborted():
    """Nine in ten were, with the threads left to the end of the interpreter."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", COUNTING],
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, "")
