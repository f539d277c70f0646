"""Luong's general attention over encoder states."""

from typing import Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.attention import AttentionStep
from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear


class GeneralAttention(nn.Module):
    """Luong et al. (2015): ``a = softmax(S W_in h)``, output ``tanh(W_out [sum a S ; h])``.

    Args:
        hidden_size: size of the decoder states, of the encoder states and of the output.
    """

    def __init__(self, hidden_size: int):
        super().__init__()
        self.query = nn.Linear(hidden_size, hidden_size, bias=False)
        self.output = nn.Linear(2 * hidden_size, hidden_size, bias=False)

    def keys(self, source: Tensor) -> Tensor:
        """``S W_in``, computed once per sentence: ``(B, S, H) -> (B, S, H)``."""
        return source @ self.query.weight

    def over(self, keys: Tensor, source: Tensor, padding_mask: Tensor) -> AttentionStep:
        """The attention step of one batch.

        Args:
            keys: ``keys(source)``, ``(B, S, H)``.
            source: encoder states, ``(B, S, H)``.
            padding_mask: True where padded, ``(B, S)``.
        """
        to_scores, to_context = StepwiseLinear(keys), StepwiseLinear(source.transpose(1, 2))
        to_output = StepwiseLinear(self.output.weight)
        padding = torch.zeros_like(keys[..., 0]).masked_fill(padding_mask, float("-inf"))

        def step(hidden: Tensor) -> Tuple[Tensor, Tensor]:
            weights = torch.softmax(to_scores(hidden) + padding, dim=1)
            context = to_context(weights)
            return torch.tanh(to_output(torch.cat([context, hidden], dim=1))), weights

        return step
