"""Training that a signal ends saves first, alone and with other processes."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests.system.commands import PLUGIN, ROOT, succeed

pytestmark = pytest.mark.system

TRAINING = (
    f"--user-dir {PLUGIN} --arch luong_lstm --embed-dim 8 --hidden-size 8 --dropout 0.1 --cpu "
    "--optimizer adam --lr 0.01 --batch-size 8 --no-progress-bar --log-interval 1 "
    "--disable-validation --no-epoch-checkpoints"
).split()
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]


@pytest.fixture(scope="module")
def data(random_data):
    return random_data


@pytest.fixture
def start(data, tmp_path):
    """Start a training that would never end; waits for some updates of its third epoch."""
    processes = []

    def training(*options, launcher=(), after=r"epoch 003:\s+5 / (15|8)"):
        script = shutil.which("fairseq-train", path=str(Path(sys.executable).parent))
        log = tmp_path / "log"
        given = [*launcher, script, data, *TRAINING, "--save-dir", tmp_path / "run", *options]
        process = subprocess.Popen(
            [sys.executable, *map(str, given)],
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
            stdout=log.open("w"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        processes.append(process)
        wait_for(log, after, process)
        return process, log

    yield training
    # torchrun starts sessions of their own: all that write into the log.
    for number in writing_to(tmp_path / "log"):
        with contextlib.suppress(ProcessLookupError):  # it has ended since
            os.kill(number, signal.SIGKILL)
    for process in processes:
        process.wait()


def wait_for(log, pattern, process=None):
    """Until a line of a log has come; a minute is for busy machines."""
    for _ in range(1200):
        found = re.search(pattern, log.read_text())
        if found:
            return found
        assert process is None or process.poll() is None, log.read_text()[-3000:]
        time.sleep(0.1)
    raise AssertionError(f"no {pattern!r} in {log.read_text()[-3000:]}")


def saved(folder):
    return torch.load(folder / "checkpoint_last.pt")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_signal_saves_the_update_and_the_run_goes_on_as_if_unbroken(
    number, code, data, start, tmp_path
):
    """To the whole group, as Slurm and a terminal send it: the loader's worker hears it too."""
    process, log = start("--num-workers", 1, "--no-last-checkpoints")
    os.killpg(process.pid, number)
    assert process.wait(60) == code
    *_, last = log.read_text().splitlines()
    found = re.fullmatch(rf"stopped by {number.name} after update (\d+): saved in .*again.*", last)
    assert found, log.read_text()[-2000:]
    updates = int(found[1])
    assert "Traceback" not in log.read_text()
    assert saved(tmp_path / "run")["optimizer_history"][-1]["num_updates"] == updates
    end = ["--max-update", updates + 9, "--num-workers", 0]
    succeed("train", data, *TRAINING, *end, "--save-dir", tmp_path / "run")
    if number is signal.SIGTERM:
        succeed("train", data, *TRAINING, *end, "--save-dir", tmp_path / "unbroken")
        for name, tensor in saved(tmp_path / "unbroken")["model"].items():
            assert torch.equal(tensor, saved(tmp_path / "run")["model"][name]), name


def test_a_signal_is_heard_in_epochs_of_one_update_that_are_not_saved(start, tmp_path):
    options = ["--save-interval", 10**6, "--batch-size", 1000]
    process, log = start(*options, after=r"begin training epoch 5\n")
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(60) == 143, log.read_text()[-2000:]
    state = saved(tmp_path / "run")
    assert state["cfg"]["checkpoint"]["save_interval"] == 10**6
    assert state["extra_state"]["train_iterator"]["iterations_in_epoch"] == 0
    assert [path.name for path in (tmp_path / "run").glob("*.pt")] == ["checkpoint_last.pt"]


def test_a_second_signal_ends_at_once_even_while_a_process_waits(start):
    """The other process is stopped, so this one waits for it in a sum and saves nothing."""
    _, log = start(launcher=TORCHRUN)
    first, second = ranks(log)
    os.kill(second, signal.SIGSTOP)
    time.sleep(1)
    os.kill(first, signal.SIGTERM)
    time.sleep(3)
    assert runs(first)
    os.kill(first, signal.SIGTERM)
    wait_for(log, "SIGTERM again: ended without saving")


def test_one_of_two_processes_gets_the_signal_and_both_stop_after_the_same_update(start, tmp_path):
    process, log = start(launcher=TORCHRUN)
    _, second = ranks(log)
    os.kill(second, signal.SIGTERM)
    process.wait(60)
    found = wait_for(log, r"stopped by SIGTERM after update (\d+): saved in")
    assert saved(tmp_path / "run")["optimizer_history"][-1]["num_updates"] == int(found[1])


def writing_to(log):
    """The numbers of the processes whose standard output is a file."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(folder / "fd" / "1") == str(log):
                found.append(int(folder.name))
    return sorted(found)


def ranks(log):
    """The processes of rank 0 and 1; workers of the data loader, which are theirs, left out."""
    ranked = {}
    for number in writing_to(log):
        environment = Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
        for rank in (0, 1):
            if f"LOCAL_RANK={rank}".encode() in environment:
                ranked[number] = rank
    # Not by their numbers, which begin anew at the largest.
    first, second = sorted((n for n in ranked if parent(n) not in ranked), key=ranked.get)
    return first, second


def parent(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_frozen_process_is_named_by_the_other(start):
    _, log = start("--heartbeat-timeout", 4, launcher=TORCHRUN)
    _, second = ranks(log)
    os.kill(second, signal.SIGSTOP)
    found = wait_for(
        log, r"error: rank 0: rank 1 \(process (\d+) on \S+\) has not responded for 4 s"
    )
    assert int(found[1]) == second


def test_a_killed_process_is_named_by_the_other(start):
    _, log = start(launcher=TORCHRUN)
    _, second = ranks(log)
    os.kill(second, signal.SIGKILL)
    found = wait_for(
        log, r"error: rank 0: rank 1 \(process (\d+) on \S+\) has exited or was killed"
    )
    assert int(found[1]) == second
    before = log.read_text().partition("error: rank 0")[0]
    assert "Traceback" not in before


def test_processes_that_are_stopped_together_go_on(start):
    """As by the scheduler of a cluster."""
    process, log = start("--heartbeat-timeout", 4, launcher=TORCHRUN)
    for number in ranks(log):
        os.kill(number, signal.SIGSTOP)
    time.sleep(7)
    last = int(re.findall(r"epoch (\d+):", log.read_text())[-1])
    for number in ranks(log):
        os.kill(number, signal.SIGCONT)
    wait_for(log, rf"epoch {last + 3:03}:", process)
    assert "has not responded" not in log.read_text()
