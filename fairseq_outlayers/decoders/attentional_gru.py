"""The recurrence of RNNsearch: attention by the previous state, then one transition."""

from typing import Dict, List, Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.decoders.steps import Steps
from fairseq_outlayers.layers.attention import AttentionStep
from fairseq_outlayers.layers.attention.additive import AdditiveAttention
from fairseq_outlayers.layers.recurrent.gated_unit import GatedUnit, gated_step
from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear


class AttentionalGRU(nn.Module):
    """``c_t = ATT(z_{t-1})``, ``z_t = GRU(z_{t-1}, E y_t, c_t)`` (Bahdanau et al. 2015, App. A.2).

    ``y_t`` is predicted from ``z_{t-1}``, which has read ``y_{t-1}``, and ``c_t``. So a target
    position starts with the transition by the previous word and context; the first position of a
    sentence has neither. The GRU is a ``GatedUnit``. In training its parameters have a gradient in
    every batch, zero in one of empty sentences, which makes no transition.

    Args:
        input_size: size of the embeddings ``E y``.
        hidden_size: size ``H`` of the states ``z``.
        attention: computes the contexts.
        context_size: size ``C`` of the contexts.
    """

    def __init__(
        self, input_size: int, hidden_size: int, attention: AdditiveAttention, context_size: int
    ):
        super().__init__()
        self.unit = GatedUnit(input_size, hidden_size)
        self.context = nn.Linear(context_size, 3 * hidden_size, bias=False)
        self.attention = attention

    def forward(self, inputs: Tensor, before: Dict[str, Tensor], attend: AttentionStep) -> Steps:
        """Run over consecutive target positions.

        Args:
            inputs: embeddings of the previous words, ``(B, T, input_size)``.
            before: ``"state"``, ``(B, H)``, of the position before the first, and ``"context"``,
                ``(B, C)``; without the latter the first position begins the sentence, and its word
                is ignored.
            attend: ``attention.over(...)`` of this batch's source.
        Returns:
            ``z_{t-1}``, ``c_t`` and attention weights for every position ``t``.
        """
        step, from_context = gated_step(self.unit.recurrent), StepwiseLinear(self.context.weight)
        state, context = before["state"], before.get("context")
        made: List[Tuple[Tensor, ...]] = []
        for from_word in self.unit.input(inputs).unbind(1):
            if context is not None:
                state = step(from_word + from_context(context), state)
            context, weights = attend(state)
            made.append((state, context, weights))
        if self.training and len(made) == 1 and "context" not in before:
            # Without a transition its parameters would have no gradient, for which other processes
            # of a data-parallel training wait. Zero for each value, because a sum may overflow.
            state, context, weights = made[0]
            idle = 0 * step(from_word + from_context(context), state)
            made[0] = (state + idle, context, weights)
        return Steps(*(torch.stack(tensors, dim=1) for tensors in zip(*made, strict=True)))
