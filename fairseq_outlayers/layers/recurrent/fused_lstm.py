"""PyTorch's fused LSTM, also under autocast."""

from typing import List, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.layers.recurrent.kernel_dtype import call_kernel


def fused_lstm(
    inputs: Tensor, state: Tuple[Tensor, Tensor], weights: List[Tensor], training: bool
) -> Tuple[Tensor, Tensor, Tensor]:
    """One LSTM layer in one direction.

    Args:
        inputs: ``(T, B, I)``.
        state: the initial hidden state and cell, ``(1, B, H)`` each.
        weights: of inputs ``(4 H, I)`` and states ``(4 H, H)``, and two biases ``(4 H,)``.
        training: as of ``torch.nn.LSTM``.
    Returns:
        The states, ``(T, B, H)``, and the final hidden state and cell, ``(1, B, H)`` each.
    Raises:
        ValueError: if inputs are not of size ``I``.
    """

    def kernel(x: Tensor, start: List[Tensor], w: List[Tensor]) -> Tuple[Tensor, Tensor, Tensor]:
        return torch.lstm(x, start, w, True, 1, 0.0, training, False, False)

    return call_kernel(kernel, inputs, state, weights)
