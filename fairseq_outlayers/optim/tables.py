"""Which parameters of a model are tables, and their switch to row-sparse gradients."""

from typing import Iterator, List

import torch.nn as nn

from fairseq_outlayers.optim.row_gradients import merge_each_batch
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.tables.rows import is_row_sparse, mark_row_sparse


def make_row_sparse(model: nn.Module) -> List[str]:
    """Give the tables of a model row-sparse gradients; returns their names.

    Tables are the weights of embeddings, and those parameters of an output layer that have a row
    for every class. Must be called before the model is wrapped for data parallelism.
    """
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.sparse = True
        for table in _tables_of(module):
            mark_row_sparse(table)
    tables = {name: p for name, p in model.named_parameters() if is_row_sparse(p)}
    for table in tables.values():
        merge_each_batch(table)
    _hide_from_pytorch_ddp(model)
    return list(tables)


def _tables_of(module: nn.Module) -> Iterator[nn.Parameter]:
    for parameter in module.parameters(recurse=False):
        is_class_table = isinstance(module, OutputLayer) and (
            parameter.dim() > 0 and len(parameter) == module.num_classes
        )
        if parameter.requires_grad and (isinstance(module, nn.Embedding) or is_class_table):
            yield parameter


def _hide_from_pytorch_ddp(model: nn.Module) -> None:
    """Leave the gradients of tables to the optimizer, whatever the wrapper.

    PyTorch's wrapper decides by module and in advance which gradients will be sparse, and takes
    none from anything but ``nn.Embedding``. It reads this attribute when it is made.
    """
    names = model.named_parameters(remove_duplicate=False)
    ignored = [name for name, parameter in names if is_row_sparse(parameter)]
    object.__setattr__(model, "_ddp_params_and_buffers_to_ignore", ignored)
