"""lazy_adam in two processes equals one process with twice the ``--update-freq``."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from tests.unit.optim.two_processes import WRAPPERS, train, train_without_fairseq
from tests.warm_server import run_python


@pytest.fixture(scope="module")
def trained_by_two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_processes")
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(
            lambda rank: run_python(
                ["-m", "tests.unit.optim.two_processes", str(rank), str(folder)]
            ),
            range(2),
        )
    for process in done:
        assert process.returncode == 0, process.stderr[-3000:]
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


def test_without_fairseq_averaged_tables_are_those_of_one_process(trained_by_two):
    expected = train_without_fairseq(0, 1)
    for rank in range(2):
        found = torch.load(trained_by_two / f"plain.{rank}.pt")
        for name, parameter in expected.items():
            torch.testing.assert_close(found[name], parameter, rtol=1e-10, atol=1e-12, msg=name)
