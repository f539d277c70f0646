"""Switch a model's tables to row-sparse gradients."""

from typing import List

import torch.nn as nn

from fairseq_outlayers.optim.row_gradients import merge_each_batch
from fairseq_outlayers.tables.table import tables_of_model


def make_row_sparse(model: nn.Module) -> List[str]:
    """Make the gradients of a model's tables row-sparse; returns the tables' names.

    Tables are embedding weights and declared tables (``tables/table.py``). Must be called before
    the model is wrapped for data parallelism.
    """
    for table in tables_of_model(model):
        if table.parameter.requires_grad:
            table.make_row_sparse()
            merge_each_batch(table.parameter)
    sparse = {id(parameter) for parameter in row_sparse_parameters(model)}
    named = model.named_parameters(remove_duplicate=False)
    _hide_from_pytorch_ddp(model, [name for name, p in named if id(p) in sparse])
    return [name for name, p in model.named_parameters() if id(p) in sparse]


def row_sparse_parameters(model: nn.Module) -> List[nn.Parameter]:
    """Parameters with row-sparse gradients, also through a data-parallel wrapper."""
    found = {id(t.parameter): t.parameter for t in tables_of_model(model) if t.row_sparse}
    return list(found.values())


def _hide_from_pytorch_ddp(model: nn.Module, names: List[str]) -> None:
    """Exclude gradients of tables from PyTorch's DDP; the optimizer averages them.

    DDP decides in advance which gradients are sparse, and accepts sparse ones only from
    ``nn.Embedding``. It reads this attribute when it is constructed.
    """
    object.__setattr__(model, "_ddp_params_and_buffers_to_ignore", names)
