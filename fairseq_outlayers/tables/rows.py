"""Rows of a table by ids, with a gradient as large as the table or one that lists rows.

The gradient of a table is as large as the table unless it is *row-sparse*: a sparse tensor of the
rows that a batch has used.
"""

from typing import Any, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def lookup(table: Tensor, ids: Tensor) -> Tensor:
    """``(V, ...)`` by ``ids`` to ``(*ids.shape, ...)``, with a dense gradient."""
    if table.dim() == 2:
        return torch.nn.functional.embedding(ids, table)
    return table[ids]


def lookup_row_sparse(table: Tensor, ids: Tensor, padding_idx: Optional[int] = None) -> Tensor:
    """``(V, ...)`` by ``ids`` to ``(*ids.shape, ...)``, with a row-sparse gradient.

    That of ``padding_idx`` is zero.
    """
    return RowSparseLookup.apply(table, ids, padding_idx)


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
