"""Dropout that ``--retain-dropout`` keeps active in generation."""

from typing import Any, List, Optional

import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class RetainableDropout(nn.Module):
    """Mix-in with fairseq's hook for ``--retain-dropout``, as in its ``FairseqDropout``.

    Does not import fairseq, because output layers and source embeddings work without.
    """

    retained: bool = False
    owner: Optional[str] = None  # of --retain-dropout-modules; by default this class

    def make_generation_fast_(
        self,
        name: str,
        retain_dropout: bool = False,
        retain_dropout_modules: Optional[List[str]] = None,
        **others: Any,
    ) -> None:
        """Called by fairseq before generation."""
        owner = self.owner or type(self).__name__
        chosen = retain_dropout_modules
        self.retained = retain_dropout and (chosen is None or owner in chosen)


class Dropout(RetainableDropout):
    """``nn.Dropout``, in generation also with ``--retain-dropout``.

    Args:
        probability: to drop a unit.
        owner: the module that it belongs to.
    """

    def __init__(self, probability: float, owner: nn.Module):
        super().__init__()
        self.probability, self.owner = probability, type(owner).__name__

    def forward(self, inputs: Tensor) -> Tensor:
        return F.dropout(inputs, self.probability, training=self.training or self.retained)

    def extra_repr(self) -> str:
        return f"p={self.probability}"
