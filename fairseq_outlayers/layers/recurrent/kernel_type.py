"""The dtype of PyTorch's fused recurrent kernels under autocast, which chooses wrongly for some."""

import functools
from typing import Any, Callable, Optional, Sequence

import torch
from torch import Tensor


def call_kernel(
    kernel: Callable[..., Any], inputs: Tensor, state: Sequence[Tensor], weights: Sequence[Tensor]
) -> Any:
    """Call a kernel; under autocast in the dtype that was asked for, or in float32.

    Autocast passes oneDNN a low precision that it refuses on some CPUs (bfloat16 without AVX-512);
    there the kernel runs in float32. On a GPU, autocast computes recurrent layers in float16
    whatever was asked for: under bfloat16 autocast nothing scales the loss, so that small gradients
    underflow.

    Args:
        kernel: takes inputs, state and weights.
        inputs: ``(T, B, I)``.
        state: initial states.
        weights: in the kernel's order.
    """
    dtype = _type_instead(inputs)
    if dtype is None:
        return kernel(inputs, list(state), list(weights))
    with torch.autocast(inputs.device.type, enabled=False):
        cast = [[each.to(dtype) for each in tensors] for tensors in (state, weights)]
        return kernel(inputs.to(dtype), *cast)


def _type_instead(inputs: Tensor) -> Optional[torch.dtype]:
    """The dtype to compute in, or None to leave it to autocast."""
    device = inputs.device.type
    if not torch.is_autocast_enabled(device):
        return None
    dtype = torch.get_autocast_dtype(device)
    if device == "cuda":
        return dtype if dtype == torch.bfloat16 else None
    return torch.float32 if device == "cpu" and not _cpu_computes(dtype) else None


@functools.cache
def _cpu_computes(dtype: torch.dtype) -> bool:
    """Whether oneDNN computes in ``dtype`` on this CPU."""
    if dtype == torch.bfloat16:
        return torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return dtype != torch.float16 or torch.ops.mkldnn._is_mkldnn_fp16_supported()
