"""The arithmetic of a sampled softmax, a chunk of positions at a time.

Sizes: ``N`` positions, ``S`` sampled classes, ``D`` dimensions.
"""

from typing import Any, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from fairseq_outlayers.losses.precision import at_least_float32

NOT_SAMPLED = -1


class Terms(NamedTuple):
    """What the scores of a batch are made of."""

    context: Tensor
    """``(N, D)``."""
    sampled_embeddings: Tensor
    """``(S, D)``."""
    sampled_offset: Tensor
    """``(S,)``, added to the dot products: bias and correction."""
    target_embeddings: Tensor
    """``(N, D)``, one for each position."""
    target_offset: Tensor
    """``(N,)``."""
    hits: Tensor
    """``(N,)``: which sampled class is the position's own target, or ``NOT_SAMPLED``."""

    def positions(self, part: slice) -> "Terms":
        """The terms of some of the positions."""
        return Terms(
            self.context[part],
            self.sampled_embeddings,
            self.sampled_offset,
            self.target_embeddings[part],
            self.target_offset[part],
            self.hits[part],
        )

    def scores(self) -> Tuple[Tensor, Tensor]:
        """``(N, S)`` of sampled classes, minus infinity at a hit, and ``(N,)`` of the targets."""
        sampled = at_least_float32(self.context @ self.sampled_embeddings.t()) + self.sampled_offset
        hit = (self.hits != NOT_SAMPLED).nonzero().squeeze(1)
        sampled[hit, self.hits[hit]] = float("-inf")
        product = (self.context * self.target_embeddings).sum(-1)
        return sampled, at_least_float32(product) + self.target_offset


def parts(num_positions: int, chunk_size: int) -> List[slice]:
    """Slices of at most ``chunk_size`` that cover all positions."""
    return [slice(start, start + chunk_size) for start in range(0, num_positions, chunk_size)]


def nll_by_chunks(terms: Terms, chunk_size: int) -> Tensor:
    """``(N,)`` nats; a chunk's scores are made again in the backward pass instead of being kept."""

    def nll(*tensors: Tensor) -> Tensor:
        sampled, target = Terms(*tensors).scores()
        return torch.logaddexp(torch.logsumexp(sampled, 1), target) - target

    chunks = [
        checkpoint(nll, *terms.positions(part), use_reentrant=False)
        for part in parts(len(terms.hits), chunk_size)
    ]
    return torch.cat(chunks) if chunks else terms.target_offset.new_zeros(0)


class SummedNLL(torch.autograd.Function):
    """The sum over positions; a chunk's gradients are taken while its scores are at hand."""

    @staticmethod
    def forward(ctx: Any, chunk_size: int, *tensors: Tensor) -> Tensor:
        terms = Terms(*tensors)
        wanted = any(ctx.needs_input_grad)
        # One for each tensor but the hits.
        gradients = [torch.zeros_like(tensor) for tensor in tensors[:-1]] if wanted else []
        total = terms.target_offset.new_zeros(())
        for part in parts(len(terms.hits), chunk_size):
            chunk = terms.positions(part)
            sampled, target = chunk.scores()
            normalizer = torch.logaddexp(torch.logsumexp(sampled, 1), target)
            total += (normalizer - target).sum()
            if wanted:
                # The scores are used up: probabilities take their place.
                probabilities = sampled.sub_(normalizer.unsqueeze(1)).exp_()
                excess = (target - normalizer).expm1_()
                _add_gradients(gradients, part, chunk, probabilities, excess)
        ctx.gradients = gradients
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> Tuple[Optional[Tensor], ...]:
        if ctx.gradients is None:
            raise RuntimeError("a summed sampled softmax can be differentiated once, and once only")
        gradients, ctx.gradients = ctx.gradients, None
        return (None, *(gradient.mul_(scale) for gradient in gradients), None)


def _add_gradients(
    gradients: List[Tensor], part: slice, chunk: Terms, probabilities: Tensor, excess: Tensor
) -> None:
    """Add what one chunk of positions contributes.

    Args:
        gradients: of every tensor of all ``Terms`` but the hits.
        part: where the chunk's positions are.
        chunk: the terms of these ``C`` positions.
        probabilities: of the sampled classes, ``(C, S)``.
        excess: of the target's probability over one, ``(C,)``.
    """
    of_context, of_sampled, of_sampled_offset, of_target, of_target_offset = gradients
    of_context[part] = torch.addcmul(
        probabilities @ chunk.sampled_embeddings, excess.unsqueeze(1), chunk.target_embeddings
    )
    of_sampled.addmm_(probabilities.t(), chunk.context)
    of_sampled_offset += probabilities.sum(0)
    of_target[part] = excess.unsqueeze(1) * chunk.context
    of_target_offset[part] = excess
