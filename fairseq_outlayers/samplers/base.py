"""The interface of a sampler: which classes are scored in training, and their correction."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError


class ClassSample(NamedTuple):
    """Classes drawn for a batch, each listed once.

    If class ``k`` is expected ``c_k`` times in a draw and came ``m_k`` times, then the sum over the
    sample of ``exp(z_k) m_k / c_k`` is an unbiased estimate of the sum over all classes of
    ``exp(z_k)``. Hence what a corrected softmax subtracts from the scores is ``log(c_k / m_k)``.
    """

    ids: Tensor
    """``(S,)`` class ids, ascending, without repetition."""
    log_expected_count: Tensor
    """``(S,)``, ``log(c_k / m_k)``; ``m_k`` is 1 where classes are drawn without replacement."""


class Sampler(ABC):
    """Draws classes to stand in for all ``V`` of them in training.

    A sampler may look at the ids of a batch's targets, never at scores or hidden states, and has no
    state: the draw is a function of its arguments.

    Args:
        num_classes: ``V``.
        num_sampled: how many classes to draw; what that counts is the sampler's to say.
    """

    @dataclass
    class Config:
        pass

    includes_targets = False
    """Whether every target of the batch is always in the sample."""

    def __init__(self, num_classes: int, num_sampled: int):
        self.num_classes = num_classes
        self.num_sampled = num_sampled

    @classmethod
    @abstractmethod
    def build(cls, config: Any, dictionary: Any, num_sampled: int) -> "Sampler":
        """Make the sampler from the options of its ``Config``.

        Args:
            config: anything that has the fields of ``cls.Config`` as attributes.
            dictionary: the target dictionary.
            num_sampled: how many classes to draw.
        Raises:
            UserError: if the dictionary does not tell what the sampler needs.
        """

    @abstractmethod
    def sample(self, targets: Tensor, generator: np.random.Generator) -> ClassSample:
        """Draw for one batch.

        Args:
            targets: class ids, ``(N,)``, padding removed.
            generator: the only source of randomness.
        Returns:
            Tensors on the device of ``targets``; logarithms in float64.
        """


class ProposalSampler(Sampler):
    """Draws with replacement from one distribution over the classes.

    Args:
        probabilities: ``Q``, ``(V,)``, positive; normalised here.
        num_sampled: number of draws. A class drawn more than once is scored once.
    """

    def __init__(self, probabilities: np.ndarray, num_sampled: int):
        super().__init__(len(probabilities), num_sampled)
        probabilities = np.asarray(probabilities, dtype=np.float64)
        check_proposal(probabilities)
        self._cumulative = np.cumsum(probabilities)
        self.log_expected_counts = torch.from_numpy(
            np.log(probabilities / probabilities.sum() * num_sampled)
        )
        """``(V,)``, ``log c_k`` of every class."""

    def sample(self, targets: Tensor, generator: np.random.Generator) -> ClassSample:
        # Inverse of the cumulative distribution in float64: exact for any number of classes.
        points = generator.random(self.num_sampled) * self._cumulative[-1]
        drawn = np.searchsorted(self._cumulative, points, side="right")
        # Rounded up, a point may be the sum itself, behind the last class.
        drawn = np.minimum(drawn, self.num_classes - 1)
        found = np.stack(np.unique(drawn, return_counts=True))
        ids, counts = torch.from_numpy(found).to(targets.device, non_blocking=True)
        if self.log_expected_counts.device != targets.device:
            self.log_expected_counts = self.log_expected_counts.to(targets.device)
        return ClassSample(ids, self.log_expected_counts[ids] - counts.double().log())


def check_proposal(probabilities: np.ndarray) -> None:
    """Refuse weights whose sum or shares float64 cannot hold.

    Raises:
        UserError: if the sum is infinite, or a positive weight's share of it rounds to 0.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        shares = probabilities / probabilities.sum()
    if not (np.isfinite(shares) & ((shares > 0) | (probabilities == 0))).all():
        raise UserError(
            f"the proposal's weights reach from {probabilities.min():g} to "
            f"{probabilities.max():g}: their sum, or the smallest one's share of it, is beyond "
            "double precision; scale the weights of --proposal-file, or lower --unigram-power"
        )
