"""One of two processes freezes or dies at a moment nobody chose: the other names it and ends."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests.faults.conftest import some
from tests.faults.kills import FULL
from tests.faults.warm import ROOT
from tests.system.test_signals import TORCHRUN, ranks, wait_for, writing_to

pytestmark = [pytest.mark.system, pytest.mark.faults]
FAULTS = [(victim, number) for number in (signal.SIGSTOP, signal.SIGKILL) for victim in (0, 1)]
SECONDS = 6  # without an answer, before a process counts as frozen
LINE = (
    r"error: rank {other}: rank {victim} \(process (\d+) on \S+\) has (not responded|exited or was)"
)


@pytest.fixture
def training(damaged_copy):
    """Two processes that would train for ever, and their log."""
    name, *options = FULL.replace("--max-epoch 3", "--max-epoch 100000").split()
    script = shutil.which(f"fairseq-{name}", path=str(Path(sys.executable).parent))
    log = damaged_copy / "log"
    command = [*TORCHRUN, script, *options, "--log-interval", "1", "--heartbeat-timeout", SECONDS]
    with open(log, "w") as out:
        process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            cwd=damaged_copy,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    yield process, log
    for number in writing_to(log):
        os.kill(number, signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize(("victim", "number"), some(FAULTS, 1))
def test_a_process_that_freezes_or_dies_is_named_and_the_checkpoint_is_whole(
    victim, number, training, tally
):
    process, log = training
    wait_for(log, r"epoch 002:\s+2 /", process)
    time.sleep(random.Random(f"{victim} {number}").random())
    pid = ranks(log)[victim]
    os.kill(pid, number)
    found = None
    for _ in range(600):
        found = re.search(LINE.format(other=1 - victim, victim=victim), log.read_text())
        if found:
            break
        time.sleep(0.1)
    tally("ranks")["named in one line" if found else "not named"] += 1
    assert found, log.read_text()[-3000:]
    assert int(found[1]) == pid
    assert "Traceback" not in log.read_text().partition("error: rank")[0]
    assert torch.load(log.parent / "save" / "checkpoint_last.pt", map_location="cpu")["model"]
