"""The recurrence of Nematus: two GRU transitions with attention between them."""

from typing import Dict, List, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.decoders.steps import Steps
from fairseq_outlayers.layers.attention import AttentionStep
from fairseq_outlayers.layers.attention.additive import AdditiveAttention
from fairseq_outlayers.layers.recurrent.cells import gru_cell
from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear


class ConditionalGRU(nn.Module):
    """``s'_t = GRU_1(y_{t-1}, s_{t-1})``, ``c_t = ATT(s'_t)``, ``s_t = GRU_2(c_t, s'_t)``.

    Sennrich et al. (2017), Sec. 2.

    Args:
        input_size: size of the embeddings ``y``.
        hidden_size: size ``H`` of the states.
        attention: computes the contexts.
        context_size: size ``C`` of the contexts.
    """

    def __init__(
        self, input_size: int, hidden_size: int, attention: AdditiveAttention, context_size: int
    ):
        super().__init__()
        self.first = nn.GRUCell(input_size, hidden_size)
        self.second = nn.GRUCell(context_size, hidden_size)
        self.attention = attention

    def forward(self, inputs: Tensor, before: Dict[str, Tensor], attend: AttentionStep) -> Steps:
        """Run over consecutive target positions.

        Args:
            inputs: embeddings, ``(B, T, input_size)``.
            before: ``"state"``, ``(B, H)``, before the first position.
            attend: ``attention.over(...)`` of this batch's source.
        """
        # The embeddings' part of the gates does not depend on the state: one product for all steps.
        input_gates = F.linear(inputs, self.first.weight_ih, self.first.bias_ih)
        from_state = StepwiseLinear(self.first.weight_hh)
        from_middle = StepwiseLinear(self.second.weight_hh)
        from_context = StepwiseLinear(self.second.weight_ih)
        state = before["state"]
        made: List[Tuple[Tensor, ...]] = []
        for gates in input_gates.unbind(1):
            middle = gru_cell(gates, from_state(state) + self.first.bias_hh, state)
            context, weights = attend(middle)
            state = gru_cell(
                from_context(context) + self.second.bias_ih,
                from_middle(middle) + self.second.bias_hh,
                middle,
            )
            made.append((state, context, weights))
        return Steps(*(torch.stack(tensors, dim=1) for tensors in zip(*made, strict=True)))
