"""Lookups of a table's rows by ids, with a dense or a row-sparse gradient.

A *row-sparse* gradient is a sparse tensor of the rows that a batch uses; a dense one is as large as
the table.
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
    """``F.embedding(..., sparse=True)`` for tables with any number of dimensions.

    PyTorch's requires two, and a view of a bias with two has no backward pass for sparse gradients.
    With a ``padding_idx`` PyTorch's omits padding, which synchronizes with a GPU to count the other
    rows; this one lists zeros on an accelerator.
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
            is_padding = ids == ctx.padding_idx
            if ids.device.type == "cpu":
                ids, gradient = ids[~is_padding], gradient[~is_padding]
            else:
                gradient = gradient.masked_fill(is_padding.unsqueeze(-1), 0.0)
        else:
            # Two lookups that are added get one gradient, and GradScaler divides in place.
            gradient = gradient.clone()
        values = gradient.reshape(-1, *ctx.shape[1:])
        rows = ids.reshape(1, -1)
        found = torch.sparse_coo_tensor(rows, values, ctx.shape, check_invariants=False)
        return found, None, None
