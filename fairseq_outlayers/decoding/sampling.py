"""Sampling where all allowed words are improbable."""

from typing import Any, Tuple

import torch
from fairseq.search import Sampling
from torch import Tensor

LEAST = -60.0  # nats; in float32 probabilities lose digits below -87, and are 0 below -103


class RescaledSampling(Sampling):
    """fairseq's sampling, renormalized where all allowed probabilities underflow in float32.

    At the length limit only ``</s>`` is allowed, which at a low temperature may have the
    probability 0; fairseq's sampling then fails. Here a distribution whose most probable word has
    less than ``exp(LEAST)`` is normalized over the allowed words before a word is drawn. Scores are
    as before.
    """

    @classmethod
    def like(cls, search: Sampling, dictionary: Any) -> "RescaledSampling":
        """The same search, rescaled."""
        return cls(dictionary, search.sampling_topk, search.sampling_topp)

    def step(
        self, step: int, lprobs: Tensor, scores: Any, *args: Any, **kwargs: Any
    ) -> Tuple[Tensor, Tensor, Tensor]:
        """Draw a word for each hypothesis; see fairseq's ``Search.step``."""
        best = lprobs.amax(-1, keepdim=True)
        too_small = (best < LEAST) & best.isfinite()
        # For all rows: looking whether any needs it would wait for an accelerator.
        shift = torch.where(too_small, lprobs.logsumexp(-1, keepdim=True), 0.0)
        drawn, words, beams = super().step(step, lprobs - shift, scores, *args, **kwargs)
        return drawn + shift.squeeze(-1).gather(1, beams), words, beams
