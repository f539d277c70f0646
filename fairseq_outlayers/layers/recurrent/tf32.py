"""Disable TF32 where a backward pass recomputes the forward pass."""

from contextlib import contextmanager
from typing import Iterator

import torch


@contextmanager
def without_tf32() -> Iterator[None]:
    """Compute float32 products on a GPU in full precision.

    By default cuDNN's recurrent layers use TF32, with 10 bits, and other products do not. So gates
    recomputed from cuDNN's states would be those of another function.
    """
    cudnn, products = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.allow_tf32, products.allow_tf32
    cudnn.allow_tf32 = products.allow_tf32 = False
    try:
        yield
    finally:
        cudnn.allow_tf32, products.allow_tf32 = before
