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
        return RowSparseLookup.apply(table, ids, None)
    if table.dim() == 2:
        return torch.nn.functional.embedding(ids, table)
    return table[ids]


class RowSparseLookup(torch.autograd.Function):
    """``F.embedding(..., sparse=True)`` for tables of any number of dimensions.

    PyTorch's own wants two; and a bias made into two by a view has no backward pass for a sparse
    gradient. With a ``padding_idx`` PyTorch's lists no row for padding, and makes the host wait for
    a GPU to say how many others there are; this one lists zeros.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor, padding_idx: Optional[int]) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.shape, ctx.padding_idx = table.shape, padding_idx
        return table.index_select(0, ids.reshape(-1)).view(*ids.shape, *table.shape[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tuple[Tensor, None, None]:
        (ids,) = ctx.saved_tensors
        if ctx.padding_idx is not None:
            gradient = gradient.masked_fill((ids == ctx.padding_idx).unsqueeze(-1), 0.0)
        values = gradient.reshape(-1, *ctx.shape[1:])
        rows = ids.reshape(1, -1)
        found = torch.sparse_coo_tensor(rows, values, ctx.shape, check_invariants=False)
        return found, None, None


class RowSparseEmbedding(torch.nn.Embedding):
    """What an ``nn.Embedding`` becomes whose table has row-sparse gradients."""

    def forward(self, ids: Tensor) -> Tensor:
        return embed(self, ids)


def embed(embedding: torch.nn.Embedding, ids: Tensor) -> Tensor:
    """What ``nn.Embedding`` does, for subclasses of it as well; row-sparse if the table is."""
    if is_row_sparse(embedding.weight):
        return RowSparseLookup.apply(embedding.weight, ids, embedding.padding_idx)
    return torch.nn.Embedding.forward(embedding, ids)
