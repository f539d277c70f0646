"""Switch a model's tables to row-sparse gradients."""

from typing import List

import torch.nn as nn

from fairseq_outlayers.optim.row_gradients import merge_each_batch
from fairseq_outlayers.tables.table import tables_of_model


def make_row_sparse(model: nn.Module) -> List[str]:
    """Make the gradients of a model's tables row-sparse; returns the tables' names.

    Tables are embedding weights and declared tables (``tables/table.py``). Must be called before
    the model is wrapped for data parallelism. PyTorch's DDP accepts sparse gradients only from
    ``nn.Embedding``: hide the tables from it (:func:`hide_from_pytorch_ddp`) and average them
    before each update (``row_gradients.average_over_processes``).

    Raises:
        UserError: if an embedding has ``max_norm`` or ``scale_grad_by_freq``.
    """
    for table in tables_of_model(model):
        if table.parameter.requires_grad:
            table.make_row_sparse()
            merge_each_batch(table.parameter)
    return _names_of_row_sparse(model)


def row_sparse_parameters(model: nn.Module) -> List[nn.Parameter]:
    """Parameters with row-sparse gradients, also through a data-parallel wrapper."""
    found = {id(t.parameter): t.parameter for t in tables_of_model(model) if t.row_sparse}
    return list(found.values())


def hide_from_pytorch_ddp(model: nn.Module) -> None:
    """Exclude row-sparse tables from PyTorch's DDP, which then leaves their gradients alone.

    Whoever calls this averages them: :func:`row_gradients.average_over_processes`. DDP decides in
    advance which gradients are sparse, and reads this attribute when it is constructed.

    Args:
        model: the very module that DDP wraps: names are relative to it.
    """
    others = getattr(model, "_ddp_params_and_buffers_to_ignore", ())
    names = _names_of_row_sparse(model, remove_duplicate=False)
    ignored = list(dict.fromkeys([*others, *names]))
    object.__setattr__(model, "_ddp_params_and_buffers_to_ignore", ignored)


def _names_of_row_sparse(model: nn.Module, remove_duplicate: bool = True) -> List[str]:
    sparse = {id(parameter) for parameter in row_sparse_parameters(model)}
    named = model.named_parameters(remove_duplicate=remove_duplicate)
    return [name for name, parameter in named if id(parameter) in sparse]
