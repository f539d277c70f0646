"""PyTorch's fused LSTM, also under autocast on CPUs that do not compute it in low precision."""

import functools
from typing import List, Tuple

import torch
from torch import Tensor


def fused_lstm(
    inputs: Tensor, state: Tuple[Tensor, Tensor], weights: List[Tensor], training: bool
) -> Tuple[Tensor, Tensor, Tensor]:
    """One LSTM layer in one direction.

    Autocast passes oneDNN a low precision that it refuses on some CPUs (bfloat16 without AVX-512).
    There the layer runs in float32.

    Args:
        inputs: ``(T, B, I)``.
        state: the initial hidden state and cell, ``(1, B, H)`` each.
        weights: of inputs ``(4 H, I)`` and states ``(4 H, H)``, and two biases ``(4 H,)``.
        training: as of ``torch.nn.LSTM``.
    Returns:
        The states, ``(T, B, H)``, and the final hidden state and cell, ``(1, B, H)`` each.
    Raises:
        ValueError: if inputs are not of size ``I``; ``torch.lstm`` would read beyond their memory.
    """
    if inputs.size(-1) != weights[0].size(-1):
        raise ValueError(
            f"inputs {tuple(inputs.shape)}: the weights are for inputs of size "
            f"{weights[0].size(-1)}"
        )
    if _is_refused(inputs):
        start = state[0].float(), state[1].float()
        with torch.autocast("cpu", enabled=False):
            return fused_lstm(inputs.float(), start, [w.float() for w in weights], training)
    return torch.lstm(inputs, state, weights, True, 1, 0.0, training, False, False)


def _is_refused(inputs: Tensor) -> bool:
    if inputs.device.type != "cpu" or not torch.is_autocast_enabled("cpu"):
        return False
    return not _cpu_computes(torch.get_autocast_dtype("cpu"))


@functools.cache
def _cpu_computes(dtype: torch.dtype) -> bool:
    """Whether oneDNN computes in ``dtype`` on this CPU."""
    if dtype == torch.bfloat16:
        return torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return dtype != torch.float16 or torch.ops.mkldnn._is_mkldnn_fp16_supported()
