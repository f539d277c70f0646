"""Sampling by frequency in the training data."""

from dataclasses import dataclass
from typing import Any

from fairseq_outlayers.ranges import ranged
from fairseq_outlayers.samplers.base import ProposalSampler
from fairseq_outlayers.samplers.frequencies import class_counts


class UnigramSampler(ProposalSampler):
    """``Q(k)`` proportional to ``count(k) ** power``, counts from the dictionary.

    Args:
        probabilities: the counts of all classes to that power, ``(V,)``, all above 0.
        num_sampled: number of draws.
    """

    @dataclass
    class Config(ProposalSampler.Config):
        unigram_power: float = ranged(
            1.0,
            "exponent of the counts: 1 for counts, 0.75 flatter, 0 uniform",
            at_least=0,
            at_most=10,
        )

    @classmethod
    def build(cls, config: Any, dictionary: Any, num_sampled: int) -> "UnigramSampler":
        return cls(class_counts(dictionary) ** config.unigram_power, num_sampled)
