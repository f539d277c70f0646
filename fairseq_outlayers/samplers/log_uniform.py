"""Log-uniform (Zipfian) sampling by rank in the dictionary."""

from typing import Any

import numpy as np

from fairseq_outlayers.samplers.base import ProposalSampler
from fairseq_outlayers.samplers.frequencies import ranks_by_count


class LogUniformSampler(ProposalSampler):
    """``Q(k) = log((r_k + 2) / (r_k + 1)) / log(V + 1)``, with ``r_k`` the rank from 0.

    For dictionaries without counts, the rank is the order in the dictionary.
    """

    @classmethod
    def build(cls, config: Any, dictionary: Any, num_sampled: int) -> "LogUniformSampler":
        return cls(np.log1p(1.0 / (ranks_by_count(dictionary) + 1)), num_sampled)
