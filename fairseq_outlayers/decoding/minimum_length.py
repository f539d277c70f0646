"""Translations at least as long as a share of the source."""

import math
from typing import Any

from fairseq.search import Search
from torch import Tensor


class MinimumLengthSearch(Search):
    """A search strategy of fairseq's that cannot end a sentence too early.

    No ``</s>`` before ``floor(share * source length)`` words, the ``</s>`` of the source counted.
    One that is forced, by a prefix or by the maximum length, stays. The authors of Jean et al.
    (2015) decode with a share of one half.

    Args:
        strategy: what chooses at each step.
        dictionary: the target dictionary.
        share: of the source length.
    """

    def __init__(self, strategy: Any, dictionary: Any, share: float):
        super().__init__(dictionary)
        self.strategy, self.share = strategy, share
        self.needs_src_lengths = True
        self.supports_constraints = strategy.supports_constraints
        self.stop_on_max_len = strategy.stop_on_max_len
        for name in ("init_constraints", "prune_sentences", "update_constraints"):
            setattr(self, name, getattr(strategy, name))

    def set_src_lengths(self, src_lengths: Tensor) -> None:
        """Called at each step, because finished sentences leave the batch."""
        super().set_src_lengths(src_lengths)
        self.strategy.set_src_lengths(src_lengths)

    def step(self, step: int, lprobs: Tensor, *arguments: Any, **options: Any) -> Any:
        """As the strategy's, with ``lprobs`` ``(B, beam, V)``."""
        early = (step < (self.share * self.src_lengths).floor()).unsqueeze(1)  # (B, 1)
        # A device is not asked whether any is: the host would wait for it at every step.
        if early.device.type != "cpu" or early.any():
            ends = lprobs[:, :, self.eos].clone()
            lprobs[:, :, self.eos] = ends.masked_fill(early, -math.inf)
            forced = lprobs.amax(dim=2).isneginf()
            lprobs[:, :, self.eos] = ends.masked_fill(early & ~forced, -math.inf)
        return self.strategy.step(step, lprobs, *arguments, **options)
