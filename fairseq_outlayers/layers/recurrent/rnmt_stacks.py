"""The recurrent stacks of RNMT+, whatever their layers are."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.attention.general import AttentionStep
from fairseq_outlayers.layers.attention.multi_head_additive import MultiHeadAdditiveAttention
from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer, State
from fairseq_outlayers.reservoirs.statistics import log_dynamics

FIRST_RESIDUAL = 2  # layers from the third on add their input to their output


def _added(below: Tensor, output: Tensor, depth: int) -> Tensor:
    return below + output if depth >= FIRST_RESIDUAL else output


class EncoderStack(nn.Module):
    """Bidirectional layers, residual from the third on, and a projection of the last.

    Args:
        layers: ``(forwards, backwards)`` for each depth.
        projection: from both directions' states to the decoder's size.
        dropout: on the output of every layer, in front of the residual.
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
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, inputs: Tensor, padding_mask: Tensor, backward_inputs: Optional[Tensor] = None
    ) -> Tuple[Tensor, List[Tensor], List[Tensor]]:
        """Run all layers, as ``LSTMEncoder`` expects it.

        Args:
            inputs: ``(B, S, d)``, left-padded.
            padding_mask: True where padded, ``(B, S)``.
            backward_inputs: what the first backward layer reads instead, in the same order.
        Returns:
            States, ``(B, S, H)``; and no final states, because this decoder starts at zero.
        """
        padding = padding_mask.t().unsqueeze(-1)
        states = below = inputs.transpose(0, 1).masked_fill(padding, 0.0)
        if backward_inputs is not None:
            below = backward_inputs.transpose(0, 1).masked_fill(padding, 0.0)
        padded = padding if padding_mask.any() else None
        seen: Dict[str, Tuple[RecurrentLayer, Tensor]] = {}
        layers: List[Any] = list(self.layers)
        for depth, (forwards, backwards) in enumerate(layers):
            ahead, _ = forwards(states, padding=padded)
            back, _ = backwards(below, padding=padded, reverse=True)
            seen |= {f"forward_{depth}": (forwards, ahead), f"backward_{depth}": (backwards, back)}
            output = self.dropout(torch.cat([ahead, back], dim=-1))
            states = below = _added(states, output, depth)
        if self.training:
            log_dynamics("encoder", seen, ~padding_mask.t())
        return self.projection(states).transpose(0, 1), [], []


class DecoderState(NamedTuple):
    """What one decoder step hands to the next."""

    layers: List[State]
    context: Tensor  # what attention found at the step before, (B, H)

    def as_tensors(self) -> Dict[str, Tensor]:
        """By name, each with the batch in front, as beam search reorders them."""
        parts = (
            (f"{d}.{n}", p) for d, state in enumerate(self.layers) for n, p in enumerate(state)
        )
        return {"context": self.context, **dict(parts)}


class DecoderStack(nn.Module):
    """Layer 0 reads ``[x_t ; c_{t-1}]`` and queries attention; the others read ``[. ; c_t]``.

    Only layer 0 and attention go step by step: the layers above run over the whole sequence.

    Args:
        layers: in order.
        attention: over the encoder states.
        dropout: on the output of every layer, in front of the residual.
    """

    def __init__(
        self,
        layers: Sequence[RecurrentLayer],
        attention: MultiHeadAdditiveAttention,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.attention = attention
        self.dropout = nn.Dropout(dropout)

    def start(self, source: Tensor) -> DecoderState:
        """Zeros, for a batch of encoder states ``(B, S, H)``."""
        layers: List[Any] = list(self.layers)
        like = source.transpose(0, 1)
        context = source.new_zeros(source.size(0), source.size(2))
        return DecoderState([layer.start(like) for layer in layers], context)

    def from_tensors(self, tensors: Dict[str, Tensor]) -> DecoderState:
        """The inverse of ``DecoderState.as_tensors``; other names are passed over."""
        layers: List[Any] = list(self.layers)
        sizes = enumerate(layer.state_size for layer in layers)
        states = [tuple(tensors[f"{depth}.{n}"] for n in range(size)) for depth, size in sizes]
        return DecoderState(states, tensors["context"])

    def forward(
        self, inputs: Tensor, state: DecoderState, attend: AttentionStep, real: Tensor
    ) -> Tuple[Tensor, Tensor, DecoderState]:
        """Run over a stretch of target positions.

        Args:
            inputs: embeddings, ``(B, T, d)``.
            state: before the first of them.
            attend: ``attention.over(...)`` of this batch's source.
            real: False where padded, ``(B, T)``.
        Returns:
            Top states with contexts, ``(B, T, 2 H)``; attention weights, ``(B, T, S)``; the state
            after.
        """
        layers: List[Any] = list(self.layers)
        below = inputs.transpose(0, 1)
        step, first, context = layers[0].steps(below), state.layers[0], state.context
        outputs, contexts, attentions = [], [], []
        for position in range(len(below)):
            first = step(position, context, first)
            context, weights = attend(first[0])
            outputs.append(first[0])
            contexts.append(context)
            attentions.append(weights)
        output, found, after = torch.stack(outputs), torch.stack(contexts), [first]
        seen: Dict[str, Tuple[RecurrentLayer, Tensor]] = {}
        for depth, layer in enumerate(layers):
            if depth > 0:
                output, last = layer(torch.cat([below, found], dim=-1), state.layers[depth])
                after.append(last)
            seen[str(depth)] = layer, output
            below = _added(below, self.dropout(output), depth)
        if self.training:
            log_dynamics("decoder", seen, real.t())
        features = torch.cat([below, found], dim=-1).transpose(0, 1)
        return features, torch.stack(attentions, dim=1), DecoderState(after, context)
