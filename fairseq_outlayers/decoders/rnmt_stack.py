"""The recurrent stack of the RNMT+ decoder with attention, for any kind of layer."""

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.attention import AttentionStep
from fairseq_outlayers.layers.attention.multi_head_additive import MultiHeadAdditiveAttention
from fairseq_outlayers.layers.dropout import Dropout
from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer, State
from fairseq_outlayers.layers.recurrent.residual import add_residual
from fairseq_outlayers.reservoirs.statistics import Dynamics


class StackState(NamedTuple):
    """The state between two decoder steps."""

    layers: List[State]
    context: Tensor  # of the previous step, (B, H)

    def as_tensors(self) -> Dict[str, Tensor]:
        """Tensors by name, batch first, for beam search to reorder."""
        parts = (
            (f"{d}.{n}", p) for d, state in enumerate(self.layers) for n, p in enumerate(state)
        )
        return {"context": self.context, **dict(parts)}


class DecoderStack(nn.Module):
    """Layer 0 reads ``[x_t ; c_{t-1}]`` and queries attention; the others read ``[. ; c_t]``.

    Only layer 0 and attention run step by step; the layers above run over the whole sequence.

    Args:
        layers: bottom-up.
        attention: over the encoder states.
        dropout: on the output of every layer, before the residual.
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
        self.dropout = Dropout(dropout, self)
        self.dynamics = Dynamics()

    def start(self, source: Tensor) -> StackState:
        """The zero state for encoder states ``(B, S, H)``."""
        layers: List[Any] = list(self.layers)
        like = source.transpose(0, 1)
        context = source.new_zeros(source.size(0), source.size(2))
        return StackState([layer.start(like) for layer in layers], context)

    def from_tensors(self, tensors: Dict[str, Tensor]) -> StackState:
        """The inverse of ``StackState.as_tensors``; ignores other names."""
        layers: List[Any] = list(self.layers)
        sizes = enumerate(layer.state_size for layer in layers)
        states = [tuple(tensors[f"{depth}.{n}"] for n in range(size)) for depth, size in sizes]
        return StackState(states, tensors["context"])

    def forward(
        self, inputs: Tensor, state: StackState, attend: AttentionStep, real: Tensor
    ) -> Tuple[Tensor, Tensor, StackState]:
        """Run over consecutive target positions.

        Args:
            inputs: embeddings, ``(B, T, d)``.
            state: before the first position.
            attend: ``attention.over(...)`` of this batch's source.
            real: False where padded, ``(B, T)``.
        Returns:
            Top states with contexts, ``(B, T, 2 H)``; attention weights, ``(B, T, S)``; the final
            state.
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
            below = add_residual(below, self.dropout(output), depth)
        if self.training:
            self.dynamics.log("decoder", seen, real.t())
        features = torch.cat([below, found], dim=-1).transpose(0, 1)
        return features, torch.stack(attentions, dim=1), StackState(after, context)
