"""Rows of a table by ids, with a gradient as large as the table or one that lists rows.

The gradient of a table is as large as the table unless it is *row-sparse*: a sparse tensor of the
rows that a batch has used.
"""

from typing import Any, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def lookup(table: Tensor, ids: Tensor) -> Tensor:
    """``(V, ...)`` by ``ids`` to ``(*ids.shape, ...)``, with a dense gradient."""
    if table.dim() == 2:
        return torch.nn.functional.embedding(ids, table)
    return table[ids]


def lookup_row_sparse(table: Tensor, ids: Tensor) -> Tensor:
    """``(V, ...)`` by ``ids`` to ``(*ids.shape, ...)``, with a row-sparse gradient."""
    return _Rows.apply(table, ids)


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
