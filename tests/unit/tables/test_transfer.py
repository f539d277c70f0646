"""Transfer of rows, against indexing; consecutive ids without a copy."""

import pytest
import torch

from fairseq_outlayers.tables.transfer import pinned, rows_on

CPU = torch.device("cpu")
SHAPES = [(6,), (6, 3), (6, 2, 2)]


def table_of(shape):
    return torch.arange(float(torch.Size(shape).numel())).view(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "ids", [[2, 3, 4], [5], [], [4, 3, 2], [1, 3, 5], [2, 2, 3], [0, 1, 3], [5, 0]]
)
def test_rows_are_those_of_the_ids(shape, ids):
    table = table_of(shape)
    expected = [table[index].tolist() for index in ids]
    rows = rows_on(CPU, table, torch.tensor(ids, dtype=torch.long))
    assert rows.shape == (len(ids), *shape[1:])
    assert rows.tolist() == expected


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ids", [[2, 3, 4], [5], [0, 1, 2, 3, 4, 5]])
def test_consecutive_ids_on_the_cpu_copy_nothing(shape, ids):
    table = table_of(shape)
    assert rows_on(CPU, table, torch.tensor(ids)).data_ptr() == table[ids[0]].data_ptr()


@pytest.mark.parametrize("ids", [[4, 3, 2], [1, 3, 5], [2, 2, 2]])
def test_other_ids_get_rows_of_their_own(ids):
    table = table_of((6, 3))
    rows = rows_on(CPU, table, torch.tensor(ids))
    rows.zero_()
    assert torch.equal(table, table_of((6, 3)))


@pytest.mark.gpu
def test_pinned_rows_are_not_overwritten_while_they_are_copied():
    table, device = torch.arange(4000.0).view(1000, 4), torch.device("cuda")
    torch.cuda._sleep(200_000_000)  # all copies wait behind this
    found = [rows_on(device, table, torch.tensor([n, n - 1])) for n in range(1, 500)]
    for n, rows in enumerate(found, start=1):
        assert torch.equal(rows.cpu(), table[[n, n - 1]])


@pytest.mark.gpu
@pytest.mark.parametrize("ids", [[5, 3], [3, 4]])
def test_rows_copied_to_the_cpu_are_there(ids):
    table = torch.zeros(1000, 4, device="cuda")
    torch.cuda._sleep(200_000_000)
    table += torch.arange(1000.0, device="cuda").unsqueeze(1)
    assert rows_on(CPU, table, torch.tensor(ids))[:, 0].tolist() == ids


def test_a_table_that_cannot_be_pinned_stays_as_it_is(monkeypatch, caplog):
    def fails(self):
        raise RuntimeError("CUDA error: out of memory\nmore")

    monkeypatch.setattr(torch.Tensor, "pin_memory", fails)
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: False)
    table = table_of((6, 3))
    assert pinned(table, torch.device("cuda")) is table
    assert caplog.messages == [
        "a table stays in pageable memory, so validation is slower: CUDA error: out of memory"
    ]
