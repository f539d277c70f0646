"""Additive attention over encoder states."""

from typing import Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.layers.attention import AttentionStep
from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear


class AdditiveAttention(nn.Module):
    """Bahdanau et al. (2015): ``e_j = v^T tanh(W q + U h_j + b)``, context ``sum softmax(e) h``.

    Args:
        query_size: size ``Q`` of the queries, decoder states.
        source_size: size ``C`` of the encoder states.
        attention_size: size ``A`` of the attention layer.
        bias: whether there is a ``b``.
    """

    def __init__(self, query_size: int, source_size: int, attention_size: int, bias: bool = True):
        super().__init__()
        self.query = nn.Linear(query_size, attention_size, bias=False)
        self.key = nn.Linear(source_size, attention_size, bias=bias)
        self.score = nn.Parameter(torch.empty(attention_size))
        nn.init.uniform_(self.score, -(attention_size**-0.5), attention_size**-0.5)

    def keys(self, source: Tensor) -> Tensor:
        """``U h + b``, computed once per sentence: ``(B, S, C) -> (B, S, A)``."""
        return self.key(source)

    def over(self, keys: Tensor, source: Tensor, padding_mask: Tensor) -> AttentionStep:
        """The attention step of one batch: query ``(B, Q)`` -> context ``(B, C)``, ``(B, S)``.

        Args:
            keys: ``keys(source)``, ``(B, S, A)``.
            source: encoder states, ``(B, S, C)``.
            padding_mask: True where padded, ``(B, S)``.
        """
        to_query = StepwiseLinear(self.query.weight)
        to_context = StepwiseLinear(source.transpose(1, 2))
        padding = torch.zeros_like(keys[..., 0]).masked_fill(padding_mask, float("-inf"))

        def step(query: Tensor) -> Tuple[Tensor, Tensor]:
            features = torch.tanh(keys + to_query(query).unsqueeze(1))
            scores = F.linear(features, self.score.unsqueeze(0)).squeeze(-1)
            weights = torch.softmax(scores + padding, dim=1)
            return to_context(weights), weights

        return step
