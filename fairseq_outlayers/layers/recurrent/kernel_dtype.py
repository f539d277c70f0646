"""The dtype of PyTorch's fused recurrent kernels under autocast, which chooses wrongly for some."""

import functools
from typing import Any, Callable, Optional, Sequence

import torch
from torch import Tensor

BFLOAT16_IN_CUDNN = 91300  # its first version, and PyTorch's first that uses it
BFLOAT16_IN_PYTORCH = (2, 10)


def call_kernel(
    kernel: Callable[..., Any], inputs: Tensor, state: Sequence[Tensor], weights: Sequence[Tensor]
) -> Any:
    """Call a kernel; under autocast in the dtype that was asked for, or in float32.

    Autocast passes oneDNN a low precision that it refuses on some CPUs (bfloat16 without AVX-512).
    On a GPU, it computes recurrent layers in float16 whatever was asked for: under bfloat16
    autocast nothing scales the loss, so that small gradients underflow.

    Args:
        kernel: takes inputs, state and weights.
        inputs: ``(T, B, I)``.
        state: initial states.
        weights: in the kernel's order, the first ``(G H, I)``.
    Raises:
        ValueError: if inputs are not of size ``I``; PyTorch would read beyond their memory.
    """
    size = weights[0].size(-1)
    if inputs.size(-1) != size:
        raise ValueError(f"inputs {tuple(inputs.shape)}: the weights are for inputs of size {size}")
    dtype = _dtype_instead(inputs)
    if dtype is None:
        return kernel(inputs, list(state), list(weights))
    with torch.autocast(inputs.device.type, enabled=False):
        cast = [[each.to(dtype) for each in tensors] for tensors in (state, weights)]
        return kernel(inputs.to(dtype), *cast)


def _dtype_instead(inputs: Tensor) -> Optional[torch.dtype]:
    """The dtype to compute in, or None to leave it to autocast."""
    device = inputs.device.type
    if device not in ("cpu", "cuda") or not torch.is_autocast_enabled(device):
        return None
    dtype = torch.get_autocast_dtype(device)
    if device == "cuda":
        if dtype != torch.bfloat16:
            return None
        return torch.bfloat16 if _cudnn_computes_bfloat16() else torch.float32
    return None if _cpu_computes(dtype) else torch.float32


@functools.cache
def _cudnn_computes_bfloat16() -> bool:
    """Whether recurrent layers in bfloat16 are one kernel; a loop over the steps otherwise."""
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    of_cudnn = 0 if torch.version.hip else torch.backends.cudnn.version() or 0
    return version >= BFLOAT16_IN_PYTORCH and of_cudnn >= BFLOAT16_IN_CUDNN


@functools.cache
def _cpu_computes(dtype: torch.dtype) -> bool:
    """Whether oneDNN computes in ``dtype`` on this CPU."""
    if dtype == torch.bfloat16:
        return torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return dtype != torch.float16 or torch.ops.mkldnn._is_mkldnn_fp16_supported()
