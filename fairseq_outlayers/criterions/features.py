"""Inputs of a criterion: decoder states, targets and the output layer."""

from typing import Any, Dict, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OutputLayer, output_layer_of


def require_output_layer(model: Any, criterion: str) -> OutputLayer:
    """The model's output layer, also through a data-parallel wrapper.

    Raises:
        UserError: if the model's output layer is not ours, or the wrapper does not support
            parameters used outside ``forward``.
    """
    layer = output_layer_of(model)
    if layer is None:
        raise UserError(
            f"--criterion {criterion} needs a model that takes --output-layer "
            "(luong_lstm, transformer_outlayers, transformer_lm_outlayers, ...), and "
            f"{type(model).__name__} does not: choose another --arch, or --criterion cross_entropy"
        )
    # Class embeddings enter the loss after the wrapped forward pass: DDP would mark them as unused,
    # and FSDP would have freed them.
    if getattr(model, "find_unused_parameters", False):
        raise UserError(
            f"--find-unused-parameters does not work with --criterion {criterion}, which uses the "
            "output layer outside forward(): leave it out (these models have no unused parameters)"
        )
    if type(model).__name__ == "FullyShardedDataParallel":
        raise UserError(
            f"--ddp-backend fully_sharded does not work with --criterion {criterion}, which uses "
            "the output layer outside forward(): use --ddp-backend pytorch_ddp"
        )
    return layer


def hidden_and_targets(
    model: Any, sample: Dict[str, Any], padding_idx: int
) -> Tuple[Tensor, Tensor]:
    """Decoder states and class ids of all positions that are not padding.

    Returns:
        ``(N, H)`` and ``(N,)``.
    """
    net_output = model(**sample["net_input"], features_only=True)
    targets = model.get_targets(sample, net_output).flatten()
    real = real_positions(targets.ne(padding_idx), sample["ntokens"])
    return net_output[0].flatten(0, -2).index_select(0, real), targets.index_select(0, real)


def real_positions(is_real: Tensor, number: Any) -> Tensor:
    """Indices where a mask is true, ascending, ``(N,)``.

    Args:
        is_real: ``(positions,)``.
        number: how many are true, fairseq's ``ntokens``; avoids a synchronization on accelerators.
    """
    if is_real.device.type == "cpu" or not isinstance(number, int):
        return is_real.nonzero().squeeze(1)
    torch._assert_async(is_real.sum() == number)
    return (~is_real).byte().argsort(stable=True)[:number]
