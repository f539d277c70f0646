"""The recurrent stack of the RNMT+ encoder, for any kind of layer."""

from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.dropout import Dropout
from fairseq_outlayers.layers.padding import has_padding
from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer
from fairseq_outlayers.layers.recurrent.residual import add_residual
from fairseq_outlayers.reservoirs.statistics import Dynamics


class EncoderStack(nn.Module):
    """Bidirectional layers, residual from the third on, and a projection of the last.

    Args:
        layers: ``(forwards, backwards)`` for each depth.
        projection: from both directions' states to the decoder's size.
        dropout: on the output of every layer, before the residual.
    """

    def __init__(
        self,
        layers: Sequence[Tuple[RecurrentLayer, RecurrentLayer]],
        projection: nn.Linear,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.layers = nn.ModuleList(nn.ModuleList(pair) for pair in layers)
        self.projection = projection
        self.dropout = Dropout(dropout, self)
        self.dynamics = Dynamics()

    def forward(
        self, inputs: Tensor, padding_mask: Tensor, backward_inputs: Optional[Tensor] = None
    ) -> Tuple[Tensor, List[Tensor], List[Tensor]]:
        """Run all layers, with the interface of ``LSTMEncoder.lstm``.

        Args:
            inputs: ``(B, S, d)``, left-padded.
            padding_mask: True where padded, ``(B, S)``.
            backward_inputs: other inputs of the first backward layer, in the same order.
        Returns:
            States, ``(B, S, H)``; no final states, because this decoder starts at zero.
        """
        padding = padding_mask.t().unsqueeze(-1)
        states = backward_states = inputs.transpose(0, 1).masked_fill(padding, 0.0)
        if backward_inputs is not None:
            backward_states = backward_inputs.transpose(0, 1).masked_fill(padding, 0.0)
        padded = padding if has_padding(padding_mask) else None
        seen: Dict[str, Tuple[RecurrentLayer, Tensor]] = {}
        layers: List[Any] = list(self.layers)
        for depth, (forwards, backwards) in enumerate(layers):
            ahead, _ = forwards(states, padding=padded)
            back, _ = backwards(backward_states, padding=padded, reverse=True)
            seen |= {f"forward_{depth}": (forwards, ahead), f"backward_{depth}": (backwards, back)}
            output = self.dropout(torch.cat([ahead, back], dim=-1))
            states = backward_states = add_residual(states, output, depth)
        if self.training:
            self.dynamics.log("encoder", seen, ~padding_mask.t())
        return self.projection(states).transpose(0, 1), [], []
