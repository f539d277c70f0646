"""Attention over encoder states."""

from typing import Callable, Tuple

from torch import Tensor

# One decoder step: query (B, Q) -> context or attentional state (B, C), weights (B, S).
AttentionStep = Callable[[Tensor], Tuple[Tensor, Tensor]]
