"""The decoder of Nematus under an output layer."""

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.decoders.readout import ReadoutDecoder
from fairseq_outlayers.decoders.steps import Steps


class DeepReadout(nn.Module):
    """``t = tanh(L_s s + L_y y + L_c c)``, with biases (Pascanu et al. 2014; Nematus).

    Args:
        hidden_size: of the decoder states ``s``.
        embed_dim: of the embeddings ``y`` of the previous words, and of the readout.
        context_size: of the contexts ``c``.
    """

    def __init__(self, hidden_size: int, embed_dim: int, context_size: int):
        super().__init__()
        self.state = nn.Linear(hidden_size, embed_dim)
        self.word = nn.Linear(embed_dim, embed_dim)
        self.context = nn.Linear(context_size, embed_dim)

    def forward(self, steps: Steps, words: Tensor) -> Tensor:
        """``(B, T, embed_dim)``, for all steps at once: the readout is not fed back."""
        sums = self.state(steps.states) + self.word(words) + self.context(steps.contexts)
        return torch.tanh(sums)


class NematusDecoder(ReadoutDecoder):
    """Conditional GRU, deep readout, output layer (Sennrich et al. 2017)."""

    def start_state(self, source: Tensor, padding_mask: Tensor) -> Tensor:
        """``s_0 = tanh(W mean_j h_j + b)``, ``(B, H)``; padded source states are zero."""
        lengths = (~padding_mask).sum(dim=1, keepdim=True)
        return torch.tanh(self.start(source.sum(dim=1) / lengths))
