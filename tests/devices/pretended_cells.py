"""Steps of recurrent layers that PyTorch has for GPUs alone, written out (and their gradients)."""

from typing import Any, Callable, Dict, Optional, Tuple

import torch
from torch import Tensor

aten = torch.ops.aten


def lstm_cell(
    from_input: Tensor,
    from_hidden: Tensor,
    cell: Tensor,
    input_bias: Optional[Tensor] = None,
    hidden_bias: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor, Tensor]:
    """The next state and cell, and the gates for the backward pass."""
    drive = from_input + from_hidden
    for bias in (input_bias, hidden_bias):
        drive = drive if bias is None else drive + bias
    parts = drive.chunk(4, dim=1)
    let_in, forget, out = (torch.sigmoid(parts[n]) for n in (0, 1, 3))
    candidate = torch.tanh(parts[2])
    after = forget * cell + let_in * candidate
    return out * torch.tanh(after), after, torch.cat([let_in, forget, candidate, out], dim=1)


def lstm_cell_backward(
    of_hidden: Optional[Tensor],
    of_cell: Optional[Tensor],
    before: Tensor,
    after: Tensor,
    gates: Tensor,
    has_bias: bool,
) -> Tuple[Tensor, Tensor, Tensor]:
    """Gradients of the drive, of the cell before, and of the bias."""
    let_in, forget, candidate, out = gates.chunk(4, dim=1)
    shown = torch.tanh(after)
    of_after = torch.zeros_like(after) if of_cell is None else of_cell.clone()
    of_out = torch.zeros_like(out)
    if of_hidden is not None:
        of_after += of_hidden * out * (1 - shown**2)
        of_out = of_hidden * shown
    of_drive = torch.cat(
        [
            of_after * candidate * let_in * (1 - let_in),
            of_after * before * forget * (1 - forget),
            of_after * let_in * (1 - candidate**2),
            of_out * out * (1 - out),
        ],
        dim=1,
    )
    return of_drive, of_after * forget, of_drive.sum(0) if has_bias else of_drive.new_zeros(0)


def gru_cell(
    from_input: Tensor,
    from_hidden: Tensor,
    hidden: Tensor,
    input_bias: Optional[Tensor] = None,
    hidden_bias: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor]:
    """The next state, and what the backward pass needs."""
    if input_bias is not None and hidden_bias is not None:
        from_input, from_hidden = from_input + input_bias, from_hidden + hidden_bias
    inputs, states = from_input.chunk(3, dim=1), from_hidden.chunk(3, dim=1)
    reset, keep = (torch.sigmoid(inputs[n] + states[n]) for n in (0, 1))
    new = torch.tanh(inputs[2] + reset * states[2])
    kept = torch.cat([reset, keep, new, hidden, states[2]], dim=1)
    return keep * hidden + (1 - keep) * new, kept


def gru_cell_backward(gradient: Tensor, kept: Tensor, has_bias: bool) -> Tuple[Any, ...]:
    """Gradients of what came from input and state, of the state, and of both biases."""
    reset, keep, new, hidden, state_part = kept.chunk(5, dim=1)
    of_new = gradient * (1 - keep) * (1 - new**2)
    of_keep = gradient * (hidden - new) * keep * (1 - keep)
    of_reset = of_new * state_part * reset * (1 - reset)
    of_input = torch.cat([of_reset, of_keep, of_new], dim=1)
    of_state = torch.cat([of_reset, of_keep, of_new * reset], dim=1)
    biases = (of_input.sum(0), of_state.sum(0)) if has_bias else (None, None)
    return of_input, of_state, gradient * keep, *biases


CELLS: Dict[Any, Callable[..., Any]] = {
    aten._thnn_fused_lstm_cell.default: lstm_cell,
    aten._thnn_fused_lstm_cell_backward_impl.default: lstm_cell_backward,
    aten._thnn_fused_gru_cell.default: gru_cell,
    aten._thnn_fused_gru_cell_backward.default: gru_cell_backward,
}
