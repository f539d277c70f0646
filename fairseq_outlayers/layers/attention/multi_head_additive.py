"""Multi-head additive attention over encoder states."""

from typing import Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.attention import AttentionStep
from fairseq_outlayers.layers.autocast import compute_dtype
from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear


class MultiHeadAdditiveAttention(nn.Module):
    """``score_n = v_n . tanh(W_q h + W_k s)_n``; context ``W_o [sum_s a_n s_n]_n`` (RNMT+).

    The subscript ``n`` takes the features of head ``n``; the values are the encoder states.

    Args:
        hidden_size: ``H``, of the decoder states, the encoder states and the context.
        heads: their number, a divisor of ``H``.
    """

    of_head: Tensor

    def __init__(self, hidden_size: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(hidden_size, hidden_size, bias=False)
        self.key = nn.Linear(hidden_size, hidden_size, bias=False)
        self.output = nn.Linear(hidden_size, hidden_size, bias=False)
        self.score = nn.Parameter(torch.empty(hidden_size))
        of_head = torch.block_diag(*torch.ones(heads, hidden_size // heads).unbind())
        self.register_buffer("of_head", of_head, persistent=False)  # (heads, H), 1 or 0
        nn.init.uniform_(self.score, -(hidden_size**-0.5), hidden_size**-0.5)

    def keys(self, source: Tensor) -> Tensor:
        """``W_k s``, computed once per sentence: ``(B, S, H) -> (B, S, H)``."""
        return self.key(source)

    def values(self, source: Tensor) -> Tensor:
        """The values by head, copied once per sentence: ``(B, S, H) -> (B, heads, H / heads, S)``.

        In the dtype of products.
        """
        by_head = source.unflatten(2, (self.heads, -1)).permute(0, 2, 3, 1)
        return by_head.to(compute_dtype(source)).contiguous()

    def over(self, keys: Tensor, values: Tensor, padding_mask: Tensor) -> AttentionStep:
        """The attention step of one batch: query ``(B, H)`` -> context ``(B, H)``, ``(B, S)``.

        Args:
            keys: ``keys(source)``, ``(B, S, H)``.
            values: ``values(source)``, ``(B, heads, H / heads, S)``.
            padding_mask: True where padded, ``(B, S)``.
        """
        batch, length, size = keys.shape
        to_values = StepwiseLinear(values.flatten(0, 1))  # (B heads, H / heads, S)
        to_query, to_context = (StepwiseLinear(m.weight) for m in (self.query, self.output))
        # One product for all heads: column n is v_n in the features of head n and 0 elsewhere.
        to_scores = (self.of_head * self.score).t().to(keys.dtype)
        padding = torch.zeros_like(keys[..., :1]).masked_fill(
            padding_mask.unsqueeze(-1), float("-inf")
        )

        def step(hidden: Tensor) -> Tuple[Tensor, Tensor]:
            scores = torch.tanh(keys + to_query(hidden).unsqueeze(1)) @ to_scores + padding
            weights = torch.softmax(scores, dim=1)  # (B, S, heads)
            attended = to_values(weights.transpose(1, 2).reshape(-1, length))
            return to_context(attended.view(batch, size)), weights.mean(-1)

        return step
