"""Samplers of classes for training. To add one: write its file, add its line to ``SAMPLERS``."""

from typing import Any, Dict, Type

from fairseq_outlayers.registry import Selection
from fairseq_outlayers.samplers.base import ClassSample, ProposalSampler, Sampler
from fairseq_outlayers.samplers.batch_negatives import BatchNegativesSampler
from fairseq_outlayers.samplers.log_uniform import LogUniformSampler
from fairseq_outlayers.samplers.proposal import ProposalFileSampler
from fairseq_outlayers.samplers.uniform import UniformSampler
from fairseq_outlayers.samplers.unigram import UnigramSampler

SAMPLERS: Dict[str, Type[Sampler]] = {
    "uniform": UniformSampler,
    "log_uniform": LogUniformSampler,
    "unigram": UnigramSampler,
    "batch_negatives": BatchNegativesSampler,
    "proposal": ProposalFileSampler,
}

SAMPLER = Selection(
    SAMPLERS,
    option="sampler",
    default="uniform",
    help_text="how classes are sampled in training",
)


def build_sampler(config: Any, dictionary: Any, num_sampled: int) -> Sampler:
    """Build the sampler ``config.sampler``.

    Args:
        config: has the fields of ``SamplerConfig``.
        dictionary: the target dictionary.
        num_sampled: number of classes to draw.
    Raises:
        UserError: if the name is unknown or the sampler does not support the dictionary.
    """
    return SAMPLER.choose(config).build(config, dictionary, num_sampled)


__all__ = [
    "SAMPLER",
    "SAMPLERS",
    "BatchNegativesSampler",
    "ClassSample",
    "LogUniformSampler",
    "ProposalFileSampler",
    "ProposalSampler",
    "Sampler",
    "UniformSampler",
    "UnigramSampler",
    "build_sampler",
]
