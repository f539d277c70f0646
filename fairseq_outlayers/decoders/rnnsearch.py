"""The decoder of RNNsearch under an output layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.decoders.readout import ReadoutDecoder
from fairseq_outlayers.decoders.steps import Steps


class MaxoutReadout(nn.Module):
    """``phi = W_1 maxout(U z + V_o E y + C c + b)``, the maximum of each pair, no activation.

    Bahdanau et al. (2015), App. A.2.2. As in the authors' code, the paper's ``W_o`` is the product
    of the output layer's class embeddings and ``W_1``.

    Args:
        hidden_size: of the decoder states ``z``.
        embed_dim: of the embeddings ``E y`` of the previous words, and of the readout.
        context_size: of the contexts ``c``.
        maxout_size: number of pairs.
    """

    def __init__(self, hidden_size: int, embed_dim: int, context_size: int, maxout_size: int):
        super().__init__()
        self.state = nn.Linear(hidden_size, 2 * maxout_size)
        self.word = nn.Linear(embed_dim, 2 * maxout_size, bias=False)
        self.context = nn.Linear(context_size, 2 * maxout_size, bias=False)
        self.output = nn.Linear(maxout_size, embed_dim, bias=False)

    def forward(self, steps: Steps, words: Tensor) -> Tensor:
        """``(B, T, embed_dim)``, for all steps at once: the readout is not fed back."""
        sums = self.state(steps.states) + self.word(words) + self.context(steps.contexts)
        return self.output(torch.maximum(sums[..., ::2], sums[..., 1::2]))


class RNNsearchDecoder(ReadoutDecoder):
    """Attention, GRU, maxout readout, output layer (Bahdanau et al. 2015)."""

    def start_state(self, source: Tensor, padding_mask: Tensor) -> Tensor:
        """``z_0 = tanh(W_s h_1 + b)``, ``(B, H)``, with the backward state of the first word."""
        backwards = source[..., source.size(-1) // 2 :]
        rows = torch.arange(len(source), device=source.device)
        first = (~padding_mask).int().argmax(dim=1)
        return torch.tanh(self.start(backwards[rows, first]))

    def at_start(self, words: Tensor) -> Tensor:
        """Replace ``</s>`` by zero: no word precedes the first one."""
        return F.pad(words[:, 1:], (0, 0, 1, 0))
