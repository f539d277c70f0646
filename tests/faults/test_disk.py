"""A disk that fills up while a checkpoint is written: one line, and the last one is whole."""

import resource
import signal

import pytest
import torch

from tests.faults import kills, warm
from tests.faults.conftest import some

pytestmark = [pytest.mark.system, pytest.mark.faults]
LIMITS = (1, 5_000, 20_000, 40_000)


def full_after(size):
    """Files may grow to ``size`` bytes; more ends in an error, as on a full disk."""

    def arrange():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return arrange


@pytest.mark.parametrize("size", some(LIMITS, 2))
def test_a_full_disk_is_told_in_one_line_and_spoils_no_checkpoint(size, damaged_copy, tally):
    line = kills.MODES["full"]
    started = warm.run(line.replace("--max-epoch 3", "--max-epoch 1"), folder=damaged_copy)
    assert started.kind == "accepted", started.err
    last = damaged_copy / "save" / "checkpoint_last.pt"
    before = last.read_bytes()
    outcome = warm.run(line, folder=damaged_copy, before=full_after(size))
    tally("full disks")[outcome.kind] += 1
    assert outcome.kind == "clear", outcome.err[-3000:]
    assert last.read_bytes() == before
    assert torch.load(last, map_location="cpu")["model"]
    again = warm.run(line, folder=damaged_copy)  # there is room again
    assert again.kind == "accepted", again.err
