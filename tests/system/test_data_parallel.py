"""Two processes on a CPU, started by torchrun as a user starts them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.system.commands import PLUGIN, ROOT, succeed
from tests.system.random_text import make_data

pytestmark = pytest.mark.system

# 15 batches an epoch: in its last update there is none left for the second process.
TRAINING = (
    f"--user-dir {PLUGIN} --arch luong_lstm --embed-dim 8 --hidden-size 8 --dropout 0 --cpu "
    "--criterion sampled_softmax --num-sampled 16 --optimizer adam --lr 0.01 --batch-size 8 "
    "--no-progress-bar --num-workers 0 --disable-validation --no-epoch-checkpoints"
).split()
UPDATES = ["--max-update", "11"]  # into the second epoch


def torchrun(data, *options):
    """Plain ``torchrun --nproc_per_node 2 $(which fairseq-train)``; its standard output."""
    script = shutil.which("fairseq-train", path=str(Path(sys.executable).parent))
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    result = subprocess.run(
        [sys.executable, *launcher, script, data, *TRAINING, *map(str, options)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert "Warning" not in result.stdout + result.stderr
    return result.stdout


def parameters(folder):
    return torch.load(folder / "checkpoint_last.pt")["model"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def one_process(data):
    folder = data.parent / "one_process"
    options = ["--update-freq", 2, "--save-dir", folder]
    succeed("train", data, *TRAINING, *UPDATES, *options)
    return parameters(folder)


@pytest.mark.parametrize("backend", ["pytorch_ddp", "legacy_ddp"])
def test_two_processes_equal_one_with_twice_the_update_freq(data, one_process, backend, tmp_path):
    torchrun(data, *UPDATES, "--ddp-backend", backend, "--save-dir", tmp_path)
    for name, tensor in parameters(tmp_path).items():
        assert torch.equal(tensor, one_process[name]), name
