"""Which classes stand in for all. To add one: write its file, add its line to ``SAMPLERS``."""

from typing import Any, Dict, Type

from fairseq_outlayers.ranges import check_ranges
from fairseq_outlayers.registry import lookup, selection_config
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

# Inherited by the dataclass of every criterion that samples: `--sampler` and each one's options.
SamplerConfig: Any = selection_config(
    "SamplerConfig",
    SAMPLERS,
    option="sampler",
    default="uniform",
    help_text="how the classes that stand in for all of them in training are drawn",
)


def build_sampler(config: Any, dictionary: Any, num_sampled: int) -> Sampler:
    """The sampler that ``config.sampler`` names.

    Args:
        config: has the fields of ``SamplerConfig``.
        dictionary: the target dictionary.
        num_sampled: how many classes to draw.
    Raises:
        UserError: if the name is unknown or the dictionary does not suit the sampler.
    """
    sampler = lookup(SAMPLERS, config.sampler, "--sampler")
    check_ranges(config, sampler.Config)
    return sampler.build(config, dictionary, num_sampled)


__all__ = [
    "SAMPLERS",
    "ClassSample",
    "ProposalSampler",
    "Sampler",
    "SamplerConfig",
    "build_sampler",
]
