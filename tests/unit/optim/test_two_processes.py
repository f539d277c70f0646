"""lazy_adam in two processes equals one process with twice the ``--update-freq``."""

import os
import subprocess
import sys

import pytest
import torch

from tests.system.commands import ROOT
from tests.unit.optim.two_processes import WRAPPERS, train


def start(rank, folder):
    command = [sys.executable, "-m", "tests.unit.optim.two_processes", str(rank), str(folder)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"})


@pytest.fixture(scope="module")
def trained_by_two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_processes")
    processes = [start(rank, folder) for rank in range(2)]
    assert [process.wait(timeout=180) for process in processes] == [0, 0]
    return folder


@pytest.mark.parametrize("backend", WRAPPERS)
def test_two_processes_equal_one_with_twice_as_many_batches(backend, trained_by_two):
    expected, expected_norms = train(rank=0, world_size=1)
    results = [torch.load(trained_by_two / f"{backend}.{rank}.pt") for rank in range(2)]
    for parameters, norms in results:
        torch.testing.assert_close(norms, expected_norms, rtol=1e-6, atol=0)
        for name, parameter in parameters.items():
            torch.testing.assert_close(parameter, expected[name], rtol=1e-10, atol=1e-12, msg=name)
            assert torch.equal(parameter, results[0][0][name])


@pytest.mark.parametrize("backend", WRAPPERS)
def test_with_a_batch_each_two_processes_equal_one_bit_for_bit(backend, trained_by_two):
    expected, norms = train(rank=0, world_size=1, batches=2, dtype=torch.float32)
    for rank in range(2):
        parameters, found = torch.load(trained_by_two / f"{backend}.{rank}.float32.pt")
        assert found == norms
        differ = [name for name, value in parameters.items() if not value.equal(expected[name])]
        assert not differ
