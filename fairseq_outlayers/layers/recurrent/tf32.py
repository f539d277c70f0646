"""Disable TF32 where a backward pass recomputes the forward pass."""

from contextlib import contextmanager
from typing import Iterator

import torch


@contextmanager
def without_tf32() -> Iterator[None]:
    """Products of float32 on a GPU keep all their digits as long as this lasts.

    cuDNN's recurrent layers compute in TF32, with 10 bits, unless they are told not to, and other
    products do not. States of the one, and gates that the other computes from them, would be those
    of two different functions.
    """
    cudnn, products = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.allow_tf32, products.allow_tf32
    cudnn.allow_tf32 = products.allow_tf32 = False
    try:
        yield
    finally:
        cudnn.allow_tf32, products.allow_tf32 = before
