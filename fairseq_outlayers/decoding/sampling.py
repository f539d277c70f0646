"""Sampling where all allowed words are improbable, or none is allowed."""

import math
from typing import Any, Tuple

import torch
from fairseq.search import Sampling
from torch import Tensor

LARGEST = 60.0  # nats; in float32 probabilities lose digits below -87, and overflow above 88


class RescaledSampling(Sampling):
    """fairseq's sampling, which fails where probabilities underflow, overflow, or are all 0.

    At the length limit only ``</s>`` is allowed, which at a low temperature may have the
    probability 0 in float32; a bonus of ``--unkpen`` may raise one above float32. Here a
    distribution whose most probable word has less than ``exp(-LARGEST)``, or more than
    ``exp(LARGEST)``, is normalized over the allowed words before a word is drawn. Scores are as
    before. Where no word is allowed, ``</s>`` is drawn with a score of ``-inf``, which ends no
    hypothesis.
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
        beyond = (best.abs() > LARGEST) & best.isfinite()
        # For all rows: looking whether any needs it would wait for an accelerator.
        shift = torch.where(beyond, lprobs.logsumexp(-1, keepdim=True), 0.0)
        shifted = lprobs - shift
        none_allowed = best.squeeze(-1) == -math.inf
        shifted[..., self.eos].masked_fill_(none_allowed, 0.0)
        drawn, words, beams = super().step(step, shifted, scores, *args, **kwargs)
        drawn = drawn + shift.squeeze(-1).gather(1, beams)
        return drawn.masked_fill(none_allowed.gather(1, beams), -math.inf), words, beams
