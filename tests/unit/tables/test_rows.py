"""Lookup of rows with row-sparse gradients, against plain indexing."""

import pytest
import torch

from fairseq_outlayers.tables.rows import lookup, lookup_row_sparse

IDS = torch.tensor([[3, 1], [3, 0]])


def lookup_and_gradient(table, ids, marked):
    table = table.clone().requires_grad_()
    rows = (lookup_row_sparse if marked else lookup)(table, ids)
    weights = torch.arange(1.0, 1 + rows.numel(), dtype=rows.dtype).view_as(rows)
    (rows * weights).sum().backward()
    return rows, table.grad


@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 3)])
@pytest.mark.parametrize("ids", [IDS, IDS[0], IDS[:, :0]], ids=["2d", "1d", "none"])
def test_sparse_gradients_equal_dense_ones_for_tables_of_any_shape(shape, ids):
    table = torch.randn(shape, dtype=torch.float64)
    rows, gradient = lookup_and_gradient(table, ids, marked=True)
    expected_rows, expected = lookup_and_gradient(table, ids, marked=False)
    assert torch.equal(rows, table[ids])
    assert torch.equal(expected_rows, table[ids])
    assert gradient.is_sparse
    assert not expected.is_sparse
    assert torch.equal(gradient.to_dense(), expected)


def test_sparse_gradients_of_one_table_used_twice_add_up_without_becoming_dense():
    table = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    as_input = torch.nn.functional.embedding(IDS, table, sparse=True)
    (as_input.sum() + 2 * lookup_row_sparse(table, torch.tensor([3, 4])).sum()).backward()
    assert table.grad.is_sparse
    expected = torch.tensor([1.0, 1, 0, 4, 2], dtype=torch.float64)
    assert torch.equal(table.grad.to_dense(), expected.unsqueeze(1).expand(5, 2))


def test_gradients_of_two_tables_whose_rows_are_added_share_no_memory():
    one, other = (torch.zeros(5, 2, requires_grad=True) for _ in range(2))
    added = lookup_row_sparse(one, IDS) + lookup_row_sparse(other, IDS)
    (added * torch.ones_like(added)).sum().backward()
    one.grad._values().mul_(0.5)  # as GradScaler.unscale_
    assert (other.grad._values() == 1).all()
