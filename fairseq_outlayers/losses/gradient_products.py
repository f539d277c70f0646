"""Gradient products in the dtype of the inputs, accumulated in float32 or better.

A sum over all positions in bfloat16 has an error above 1%: every addition rounds to eight bits.
float16 has eleven bits, but values below 6e-8, which probabilities of a large vocabulary approach,
underflow, and values above 65,504 overflow; so factors are scaled by a power of two, which is
exact.
"""

import functools
import math
from typing import Any, Optional, Tuple, Type

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import Function, once_differentiable

from fairseq_outlayers.layers.autocast import accumulation_dtype

LARGEST_IN_FLOAT16 = 15.0  # exponent of two
WIDEST_FACTOR = 15.0
ONLY_ONCE = "a summed softmax can be differentiated only once"


def zeros_to_sum(like: Tensor) -> Tensor:
    """An accumulator for gradients of ``like``, in at least float32."""
    return torch.zeros_like(like, dtype=accumulation_dtype(like.dtype))


def constant_without_grad(*tensors: Optional[Tensor]) -> Tuple[Optional[Tensor], ...]:
    """The tensors, detached if gradients are disabled.

    Call it before an autograd function that computes gradients in ``forward``: there
    ``ctx.needs_input_grad`` is true for parameters even under ``torch.no_grad()``, and
    ``torch.is_grad_enabled()`` is always false.
    """
    if torch.is_grad_enabled():
        return tensors
    return tuple(None if tensor is None else tensor.detach() for tensor in tensors)


def apply_uncompiled(function: Type[Function], *arguments: Any) -> Any:
    """``function.apply``, which ``torch.compile`` does not trace on an accelerator but calls.

    With PyTorch 2.11 on a GPU, the gradients of a traced function that keeps them from its forward
    pass were silently zero.
    """
    if torch.compiler.is_compiling() and _is_traced_wrongly(arguments):
        return torch.compiler.disable(function.apply)(*arguments)
    return function.apply(*arguments)


def _is_traced_wrongly(arguments: Tuple[Any, ...]) -> bool:
    tensors = [each for each in arguments if isinstance(each, Tensor)]
    return any(tensor.device.type != "cpu" for tensor in tensors)


def gathered(table: Tensor, rows: Tensor) -> Tensor:
    """``table[rows]`` in at least float32, in which the gradients of a row are summed, too.

    Args:
        table: ``(R, D)``.
        rows: ``(N,)``.
    """
    if table.dtype == accumulation_dtype(table.dtype):
        return F.embedding(rows, table)
    return _Gathered.apply(table, rows)


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.shape, ctx.dtype = table.shape, table.dtype
        return table[rows].to(accumulation_dtype(table.dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_gathered: Tensor) -> Tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        total = grad_gathered.new_zeros(ctx.shape)
        return total.index_add_(0, rows, grad_gathered).to(ctx.dtype), None


def float16_factor(other: Tensor, sum_of_shares: float) -> Optional[Tensor]:
    """The scale for probabilities before a product with ``other``; None unless float16.

    Args:
        other: the second factor of the product; the scale stays on its device.
        sum_of_shares: upper bound of the sum of the probabilities in one dot product.
    """
    if other.dtype != torch.float16 or other.numel() == 0:
        return None
    room = LARGEST_IN_FLOAT16 - math.log2(sum_of_shares) - other.abs().max().float().log2()
    return room.floor().clamp(-WIDEST_FACTOR, WIDEST_FACTOR).exp2()


def product(shares: Tensor, other: Tensor, factor: Optional[Tensor]) -> Tensor:
    """``shares @ other``, in at least float32.

    Args:
        shares: probabilities or gradients of scores, ``(C, K)``.
        other: ``(K, D)``, in the dtype to compute in.
        factor: of :func:`float16_factor`.
    """
    if factor is None:
        return (shares.to(other.dtype) @ other).to(accumulation_dtype(shares.dtype))
    scaled = torch.mul(shares, factor, out=torch.empty_like(shares, dtype=other.dtype))
    return (scaled @ other).to(shares.dtype).div_(factor)


class _Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, total: Tensor) -> Tensor:
        return total.clone()

    @staticmethod
    def backward(ctx: Any, grad_total: Tensor) -> Tensor:
        if torch.is_grad_enabled():  # by create_graph=True
            raise RuntimeError(f"{ONLY_ONCE}, without create_graph: use reduction='none'")
        return grad_total


def differentiable_once(total: Tensor) -> Tensor:
    """A sum with gradients of its forward pass; a second derivative would lack a part of it.

    Raises:
        RuntimeError: in the backward pass, if its gradients are to have a graph.
    """
    if torch.compiler.is_compiling() or not total.requires_grad:
        return total
    return _Once.apply(total)


def scaled_once(ctx: Any, scale: Tensor) -> Tuple[Optional[Tensor], ...]:
    """The gradients of a forward pass in ``ctx.types``, times ``scale``; consumes them.

    Args:
        ctx: of an ``autograd.Function``, with ``gradients`` and ``types``, one for each input.
        scale: the gradient of the loss.
    """
    if ctx.gradients is None:
        raise RuntimeError(ONLY_ONCE)
    gradients, ctx.gradients = ctx.gradients, None
    return tuple(
        None if gradient is None else gradient.mul_(scale).to(dtype)
        for gradient, dtype in zip(gradients, ctx.types, strict=True)
    )


def add_product(total: Tensor, shares: Tensor, other: Tensor, factor: Optional[Tensor]) -> None:
    """Add ``shares.t() @ other`` to ``total``.

    Args:
        total: of :func:`zeros_to_sum`, ``(K, D)``.
        shares: ``(C, K)``.
        other: ``(C, D)``, in the dtype to compute in.
        factor: of :func:`float16_factor`.
    """
    if factor is not None:
        total += product(shares.t(), other, factor)
        return
    low = shares.to(other.dtype)
    if low.dtype == total.dtype:
        total.addmm_(low.t(), other)
    elif total.dtype == torch.float32 and _adds_in_float32(total.device, low.dtype):
        torch.ops.aten.addmm.dtype_out(total, low.t(), other, total.dtype, out=total)
    else:
        total += low.t() @ other  # added in float32


@functools.cache
def _adds_in_float32(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether a product of low precision can be added to a float32 sum without rounding before."""
    if device.type != "cuda" or not hasattr(torch.ops.aten.addmm, "dtype_out"):
        return False
    ones = torch.ones(16, 16, dtype=dtype, device=device)
    total = torch.full((16, 16), 1 / 256, device=device)
    try:
        torch.ops.aten.addmm.dtype_out(total, ones.t(), ones, total.dtype, out=total)
    except RuntimeError:
        return False
    return bool((total == 16 + 1 / 256).all())
