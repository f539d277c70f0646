"""Rows of a table, with a gradient that lists rows where the table's optimizer takes one.

A table is a parameter with one row (or one number) for every word. Its gradient is as large as the
table unless it is *row-sparse*: a sparse tensor of the rows that a batch has used.
"""

from typing import Any, Callable, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

MARK = "row_sparse"
LENGTH = "rows_in_use"
SOURCE = "rows_from"


def mark_row_sparse(table: Tensor) -> None:
    """From now on, :func:`table_rows` gives ``table`` row-sparse gradients."""
    setattr(table, MARK, True)


def is_row_sparse(table: Tensor) -> bool:
    """Whether the table has been marked; its gradient may be dense all the same."""
    return getattr(table, MARK, False)


def set_length(table: Tensor, number: Optional[int]) -> None:
    """From now on, :func:`all_rows` gives the first ``number`` rows; None for all of them."""
    setattr(table, LENGTH, number)


def all_rows(table: Tensor) -> Tensor:
    """The table, ``(V, ...)``, or the rows of it that are in use (``tables/active_rows.py``)."""
    number = getattr(table, LENGTH, None)
    return table if number is None else table[:number]


def set_source(table: Tensor, rows: Optional[Callable[[Tensor], Tensor]]) -> None:
    """From now on, :func:`table_rows` asks ``rows``; None for the table itself."""
    setattr(table, SOURCE, rows)


def table_rows(table: Tensor, ids: Tensor) -> Tensor:
    """Look rows up, ``(V, ...)`` by ``ids`` to ``(*ids.shape, ...)``."""
    elsewhere = getattr(table, SOURCE, None)
    if elsewhere is not None:
        return elsewhere(ids)
    if is_row_sparse(table):
        return _Rows.apply(table, ids)
    if table.dim() == 2:
        return torch.nn.functional.embedding(ids, table)
    return table[ids]


class _Rows(torch.autograd.Function):
    """``F.embedding(..., sparse=True)`` for tables of any number of dimensions.

    PyTorch's own wants two; and a bias made into two by a view has no backward pass for a sparse
    gradient.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return table.index_select(0, ids.reshape(-1)).view(*ids.shape, *table.shape[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Tensor, None]:
        (ids,) = ctx.saved_tensors
        values = gradient.reshape(-1, *ctx.shape[1:])
        rows = ids.reshape(1, -1)
        return torch.sparse_coo_tensor(rows, values, ctx.shape, check_invariants=False), None
