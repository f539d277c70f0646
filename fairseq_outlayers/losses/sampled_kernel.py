"""Sampled softmax loss and gradients, a chunk of positions at a time.

Sizes: ``N`` positions, ``S`` sampled classes, ``R >= S`` scored classes, ``D`` dimensions.
"""

from typing import Any, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from fairseq_outlayers.losses.gradient_products import (
    add_product,
    float16_factor,
    gathered,
    product,
    scaled_once,
    zeros_to_sum,
)
from fairseq_outlayers.losses.precision import at_least_float32
from fairseq_outlayers.losses.softmax_rows import exclusion_scatter, softmax_


class Terms(NamedTuple):
    """The inputs of a batch's scores."""

    target_rows: Tensor
    """``(N,)``: index of each position's target in ``embeddings``."""
    context: Tensor
    """``(N, D)``."""
    embeddings: Tensor
    """``(R, D)``: of the sampled classes, then of the other targets."""
    sampled_offset: Tensor
    """``(S,)``, added to the dot products: bias and correction."""
    target_offset: Tensor
    """``(N,)``."""

    def positions(self, part: slice) -> "Terms":
        """The terms of some positions."""
        return Terms(
            self.target_rows[part],
            self.context[part],
            self.embeddings,
            self.sampled_offset,
            self.target_offset[part],
        )

    def to_dtype(self, dtype: torch.dtype) -> "Terms":
        """Cast the factors of the products."""
        return self._replace(context=self.context.to(dtype), embeddings=self.embeddings.to(dtype))

    def target_embeddings(self) -> Tensor:
        """``(N, D)``, in at least float32."""
        return gathered(self.embeddings, self.target_rows)

    def scores(self) -> Tuple[Tensor, Tensor]:
        """``(N, S)`` of sampled classes, minus infinity at hits, and ``(N,)`` of the targets.

        A hit is a sampled class that is the position's target.
        """
        sampled, target = self.products()
        sampled = at_least_float32(sampled) + self.sampled_offset
        if sampled.size(1) > 0:
            sampled = sampled.scatter(1, *exclusion_scatter(sampled, self.target_rows))
        return sampled, target

    def products(self) -> Tuple[Tensor, Tensor]:
        """Products with the sampled classes, ``(N, S)``, and ``(N,)`` scores of the targets."""
        sampled = self.context @ self.embeddings[: len(self.sampled_offset)].t()
        own_scores = (self.context * self.target_embeddings()).sum(-1)
        return sampled, at_least_float32(own_scores) + self.target_offset


def parts(num_positions: int, chunk_size: int) -> List[slice]:
    """Slices of at most ``chunk_size`` that cover all positions."""
    return [slice(start, start + chunk_size) for start in range(0, num_positions, chunk_size)]


def nll_by_chunks(terms: Terms, chunk_size: int) -> Tensor:
    """NLL in nats, ``(N,)``; a chunk's scores are recomputed in the backward pass."""

    def nll(*tensors: Tensor) -> Tensor:
        sampled, target = Terms(*tensors).scores()
        return torch.logaddexp(torch.logsumexp(sampled, 1), target) - target

    chunks = [
        checkpoint(nll, *terms.positions(part), use_reentrant=False)
        # One empty chunk without positions, so that the result has gradients.
        for part in parts(len(terms.target_rows), chunk_size) or [slice(0)]
    ]
    return torch.cat(chunks)


class SummedNLL(torch.autograd.Function):
    """The sum over positions; computes a chunk's gradients together with its scores.

    Products are computed in ``dtype``, everything else, including sums of gradients, in at least
    float32.
    """

    @staticmethod
    def forward(ctx: Any, chunk_size: int, dtype: torch.dtype, *tensors: Tensor) -> Tensor:
        given = Terms(*tensors)
        # For all tensors but target_rows.
        sums = [
            zeros_to_sum(tensor) if wanted else None
            for tensor, wanted in zip(tensors[1:], ctx.needs_input_grad[3:], strict=True)
        ]
        any_wanted = any(gradient is not None for gradient in sums)
        total = given.target_offset.new_zeros(())
        with torch.autocast(given.context.device.type, enabled=False):
            terms = given.to_dtype(dtype)
            factors = _float16_factors(terms, chunk_size, sums)
            for part in parts(len(terms.target_rows), chunk_size):
                chunk = terms.positions(part)
                sampled, target = chunk.products()
                normalizer, probabilities = softmax_(
                    sampled, chunk.sampled_offset, target, chunk.target_rows, any_wanted
                )
                total += (normalizer - target).sum()
                if probabilities is not None:
                    excess = (target - normalizer).expm1_()
                    _add_gradients(sums, part, chunk, probabilities, excess, factors)
        ctx.gradients, ctx.types = sums, [tensor.dtype for tensor in tensors[1:]]
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> Tuple[Optional[Tensor], ...]:
        return None, None, None, *scaled_once(ctx, scale)


Sums = List[Optional[Tensor]]
Factors = Tuple[Optional[Tensor], Optional[Tensor]]


def _float16_factors(terms: Terms, chunk_size: int, sums: Sums) -> Factors:
    """For the gradients of the context and of the embeddings."""
    grad_context, grad_embeddings = sums[:2]
    most = min(chunk_size, len(terms.context))
    return (
        None if grad_context is None else float16_factor(terms.embeddings, 2),
        None if grad_embeddings is None else float16_factor(terms.context, most),
    )


def _add_gradients(
    sums: Sums,
    part: slice,
    chunk: Terms,
    probabilities: Tensor,
    excess: Tensor,
    factors: Factors,
) -> None:
    """Add the gradients of one chunk of positions.

    Args:
        sums: gradients of all ``Terms`` but ``target_rows``, each None if not required.
        part: the chunk's slice of positions.
        chunk: the terms of these ``C`` positions.
        probabilities: of the sampled classes, ``(C, S)``.
        excess: the target's probability minus one, ``(C,)``.
        factors: of :func:`_float16_factors`.
    """
    grad_context, grad_embeddings, grad_sampled_offset, grad_target_offset = sums
    num_sampled = probabilities.size(1)
    column = excess.unsqueeze(1)
    if grad_context is not None:
        torch.addcmul(
            product(probabilities, chunk.embeddings[:num_sampled], factors[0]),
            column,
            chunk.target_embeddings(),
            out=grad_context[part],
        )
    if grad_embeddings is not None:
        add_product(grad_embeddings[:num_sampled], probabilities, chunk.context, factors[1])
        of_targets = (column * chunk.context).to(grad_embeddings.dtype)
        grad_embeddings.index_add_(0, chunk.target_rows, of_targets)
    if grad_sampled_offset is not None:
        grad_sampled_offset += probabilities.sum(0, dtype=grad_sampled_offset.dtype)
    if grad_target_offset is not None:
        grad_target_offset[part] = excess
