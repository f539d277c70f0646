"""Losses over class scores: tensors in, tensors out.

Nothing here knows of models, batches or fairseq. Scores are made in chunks of positions, so that a
table of positions by classes never exists.
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
