"""Gradient products in the dtype of the inputs, accumulated in float32 or better.

A sum over all positions in bfloat16 errs by more than a hundredth: what a chunk adds is rounded
to the eight bits of what is there already. float16 has eleven bits, but numbers below 6e-8 are
zero, which probabilities of a large vocabulary come near, and above 65,504 infinite; so factors
are brought into its range by a power of two, which changes no digit.
"""

import math
from typing import Optional

import torch
from torch import Tensor

LARGEST_IN_FLOAT16 = 15.0  # as a power of two
WIDEST_FACTOR = 15.0


def zeros_to_sum(like: Tensor) -> Tensor:
    """Zeros to sum gradients of ``like`` in."""
    return torch.zeros_like(like, dtype=torch.promote_types(like.dtype, torch.float32))


def float16_factor(other: Tensor, sum_of_shares: float) -> Optional[Tensor]:
    """What to multiply probabilities by before a product with ``other``; None in other types.

    Args:
        other: the second factor of the product, on whose device the number stays.
        sum_of_shares: the most that the probabilities of one sum can add up to.
    """
    if other.dtype != torch.float16 or other.numel() == 0:
        return None
    room = LARGEST_IN_FLOAT16 - math.log2(sum_of_shares) - other.abs().max().float().log2()
    return room.floor().clamp(-WIDEST_FACTOR, WIDEST_FACTOR).exp2()


def product(shares: Tensor, other: Tensor, factor: Optional[Tensor]) -> Tensor:
    """``shares @ other``, in float32 at least.

    Args:
        shares: probabilities or what is left of them, ``(C, K)``, in float32 at least.
        other: ``(K, D)``, in the type to compute in.
        factor: of :func:`float16_factor`.
    """
    if shares.dtype == other.dtype:
        return shares @ other
    if factor is None:
        return (shares.to(other.dtype) @ other).to(shares.dtype)
    return ((shares * factor).to(other.dtype) @ other).to(shares.dtype).div_(factor)


def add_product(total: Tensor, shares: Tensor, other: Tensor, factor: Optional[Tensor]) -> None:
    """Add ``shares.t() @ other`` to ``total``.

    Args:
        total: of :func:`zeros_to_sum`, ``(K, D)``.
        shares: ``(C, K)``, in float32 at least.
        other: ``(C, D)``, in the type to compute in.
        factor: of :func:`float16_factor`.
    """
    if shares.dtype == other.dtype:
        total.addmm_(shares.t(), other)
    elif factor is None:
        total += shares.to(other.dtype).t() @ other  # added in float32
    else:
        total += product(shares.t(), other, factor)
