"""The recurrence of an attentional LSTM decoder with input feeding."""

from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.layers.attention import AttentionStep
from fairseq_outlayers.layers.attention.general import GeneralAttention
from fairseq_outlayers.layers.dropout import Dropout
from fairseq_outlayers.layers.recurrent.cells import lstm_cell
from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear


class InputFeedingState(NamedTuple):
    """The state between two decoder steps."""

    hiddens: List[Tensor]  # one per layer, (B, H)
    cells: List[Tensor]  # one per layer, (B, H)
    feed: Tensor  # the attentional state o_{t-1}, (B, H)

    def as_tensors(self) -> Dict[str, Tensor]:
        """Tensors by name, batch first, for beam search to reorder."""
        tensors = {"feed": self.feed}
        tensors.update({f"hidden.{layer}": h for layer, h in enumerate(self.hiddens)})
        tensors.update({f"cell.{layer}": c for layer, c in enumerate(self.cells)})
        return tensors

    @classmethod
    def from_tensors(cls, tensors: Dict[str, Tensor]) -> "InputFeedingState":
        """The inverse of ``as_tensors``; ignores other names."""
        layers = range(sum(name.startswith("hidden.") for name in tensors))
        return cls(
            [tensors[f"hidden.{layer}"] for layer in layers],
            [tensors[f"cell.{layer}"] for layer in layers],
            tensors["feed"],
        )


class InputFeedingDecoder(nn.Module):
    """``o_t = dropout(attention(LSTM([x_t ; o_{t-1}])))`` (Luong et al. 2015, Sec. 3.3).

    Args:
        input_size: size of the embeddings ``x_t``.
        hidden_size: size ``H`` of states, cells and outputs.
        num_layers: LSTM layers.
        dropout: between layers and on ``o_t``.
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int, dropout: float = 0.0):
        super().__init__()
        sizes = [input_size + hidden_size] + [hidden_size] * (num_layers - 1)
        self.layers = nn.ModuleList(nn.LSTMCell(size, hidden_size) for size in sizes)
        self.attention = GeneralAttention(hidden_size)
        self.dropout = Dropout(dropout, self)

    def forward(
        self, inputs: Tensor, state: InputFeedingState, attend: AttentionStep
    ) -> Tuple[Tensor, Tensor, InputFeedingState]:
        """Run over consecutive target positions.

        Args:
            inputs: embeddings, ``(B, T, input_size)``.
            state: the state before the first position.
            attend: ``attention.over(...)`` of this batch's source.
        Returns:
            Outputs ``o``, ``(B, T, H)``; attention weights, ``(B, T, S)``; the final state.
        """
        # One product for all steps adds the embeddings to the first layer's gates. At every step
        # and layer, [layer below ; own state] is multiplied by one joined matrix.
        layers: List[Any] = list(self.layers)
        first = layers[0]
        from_input, from_feed = first.weight_ih.split([inputs.size(-1), state.feed.size(-1)], dim=1)
        input_part = F.linear(inputs, from_input, first.bias_ih + first.bias_hh)
        below = [from_feed] + [layer.weight_ih for layer in layers[1:]]
        join = _joined if inputs.size(1) > 1 else _apart
        to_gates = [join(w, layer.weight_hh) for w, layer in zip(below, layers, strict=True)]
        biases = [layer.bias_ih + layer.bias_hh for layer in layers[1:]]

        hiddens, cells, feed = list(state.hiddens), list(state.cells), state.feed
        outputs, attentions = [], []
        for first_bias in input_part.unbind(1):
            for depth, bias in enumerate([first_bias, *biases]):
                below_state = feed if depth == 0 else self.dropout(hiddens[depth - 1])
                gates = to_gates[depth](below_state, hiddens[depth]) + bias
                hiddens[depth], cells[depth] = lstm_cell(gates, cells[depth])
            attended, attention = attend(hiddens[-1])
            feed = self.dropout(attended)
            outputs.append(feed)
            attentions.append(attention)
        after = InputFeedingState(hiddens, cells, feed)
        return torch.stack(outputs, dim=1), torch.stack(attentions, dim=1), after


def _joined(from_below: Tensor, from_self: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """``below from_below^T + self from_self^T`` as one product per step, for many steps."""
    linear = StepwiseLinear(torch.cat([from_below, from_self], dim=1))
    return lambda below, own: linear(torch.cat([below, own], dim=1))


def _apart(from_below: Tensor, from_self: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """The same for a single step, where joining the matrices costs more than it saves."""
    return lambda below, own: F.linear(below, from_below) + F.linear(own, from_self)
