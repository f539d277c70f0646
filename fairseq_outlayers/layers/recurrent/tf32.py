"""Disable TF32 where a backward pass recomputes the forward pass."""

from contextlib import contextmanager
from typing import Any, Iterator, Tuple

import torch


@contextmanager
def without_tf32() -> Iterator[None]:
    """Compute float32 products on a GPU in full precision.

    By default cuDNN's recurrent layers use TF32, with 10 bits, and other products do not. So gates
    recomputed from cuDNN's states would be those of another function.
    """
    switches, name, full = _switches()
    # In older PyTorch "medium" allows TF32, too, and restoring that alone would make it "high".
    precision = torch.get_float32_matmul_precision() if name == "allow_tf32" else None
    before = [getattr(switch, name) for switch in switches]
    for switch in switches:
        setattr(switch, name, full)
    try:
        yield
    finally:
        for switch, value in zip(switches, before, strict=True):
            setattr(switch, name, value)
        if precision is not None:
            torch.set_float32_matmul_precision(precision)


def _switches() -> Tuple[Tuple[Any, Any], str, Any]:
    """Settings of recurrent layers and of products, their attribute, and its full precision.

    PyTorch raises an error if a program reads ``allow_tf32`` after it has set ``fp32_precision``,
    so the newer attribute is used where there is one.
    """
    cudnn, products = torch.backends.cudnn, torch.backends.cuda.matmul
    if hasattr(cudnn, "rnn"):
        return (cudnn.rnn, products), "fp32_precision", "ieee"
    return (cudnn, products), "allow_tf32", False
