"""Losses over class scores: tensors in, tensors out.

Independent of models, batches and fairseq. Scores are computed in chunks of positions, so an (N, V)
tensor exists for small batches alone.
"""

from fairseq_outlayers.losses.full import full_nll
from fairseq_outlayers.losses.sampled import ScoredClasses, sampled_nll, scored_classes
from fairseq_outlayers.losses.smoothing import smoothing_term
from fairseq_outlayers.losses.streamed import ClassBlock, streamed_nll

__all__ = [
    "ClassBlock",
    "ScoredClasses",
    "full_nll",
    "sampled_nll",
    "scored_classes",
    "smoothing_term",
    "streamed_nll",
]
