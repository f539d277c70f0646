"""A process whose gloo threads still release tensors at its end is not aborted."""

import os
import subprocess
import sys

import pytest

from fairseq_outlayers.patches.required import gloo_at_exit
from tests.system.commands import ROOT

# In the first process, the last reference to the tensor is that of gloo's thread, which takes long
# to release it; the second lets the operation end.
RELEASING = """
import sys
import time
import torch
import torch.distributed as dist
import fairseq_outlayers
from fairseq_outlayers.patches.required import gloo_at_exit

class Held:
    begun = False

    def __del__(self):
        Held.begun = True
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            pass

path, rank, gloo_at_exit.THREAD = sys.argv[1], int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=2)
gloo_at_exit.register()
tensor = torch.ones(2)
if rank == 0:
    tensor.held = Held()
else:
    time.sleep(0.5)
work = dist.all_reduce(tensor, async_op=True)
if rank == 1:
    work.wait()
del tensor, work
while rank == 0 and not Held.begun:
    time.sleep(0.01)
print("saved")
"""


@pytest.mark.system
@pytest.mark.parametrize("thread", [gloo_at_exit.THREAD, "without a name"])
def test_a_process_that_ends_while_a_tensor_is_released_is_not_aborted(tmp_path, thread):
    both = [
        subprocess.Popen(
            [sys.executable, "-c", RELEASING, str(tmp_path / "store"), str(rank), thread],
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert all(out.endswith("saved\n") and not err for out, err in said), said
