"""Log-uniform (Zipfian) sampling by rank in the dictionary."""

from typing import Any, Optional

import numpy as np

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.samplers.base import ProposalSampler
from fairseq_outlayers.samplers.frequencies import ranks_by_count


class LogUniformSampler(ProposalSampler):
    """``Q(k) = log((r_k + 2) / (r_k + 1)) / log(V + 1)``, with ``r_k`` the rank from 0.

    Args:
        num_classes: ``V``.
        num_sampled: number of draws.
        ranks: ``r_k``, ``(V,)``, 0 for the most frequent class; None: classes are in that order.
    Raises:
        UserError: if there is not one rank for each class.
    """

    def __init__(self, num_classes: int, num_sampled: int, ranks: Optional[np.ndarray] = None):
        ranks = np.arange(num_classes) if ranks is None else np.asarray(ranks)
        if ranks.shape != (num_classes,):
            raise UserError(f"ranks {ranks.shape}: must be ({num_classes},), one per class")
        super().__init__(np.log1p(1.0 / (ranks + 1)), num_sampled)

    @classmethod
    def build(cls, config: Any, dictionary: Any, num_sampled: int) -> "LogUniformSampler":
        return cls(len(dictionary), num_sampled, ranks_by_count(dictionary))
