"""The interface of samplers: classes to score in training, and their correction."""

import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError


class ClassSample(NamedTuple):
    """Distinct classes sampled for a batch.

    If class ``k`` is drawn ``m_k`` times and ``c_k`` is its expected count, the sum over the sample
    of ``exp(z_k) m_k / c_k`` is an unbiased estimate of the sum over all classes of ``exp(z_k)``.
    So a corrected softmax subtracts ``log(c_k / m_k)`` from the scores.
    """

    ids: Tensor
    """``(S,)`` class ids, ascending and distinct."""
    log_expected_count: Tensor
    """``(S,)``, ``log(c_k / m_k)``; ``m_k`` is 1 without replacement."""


class Sampler(ABC):
    """Samples some of the ``V`` classes in training.

    A sampler may use the target ids of a batch, never scores or hidden states. No state
    changes what it draws: a sample depends on its arguments alone.

    Args:
        num_classes: ``V``.
        num_sampled: number of draws; the subclass defines whether targets are among them.
    Raises:
        UserError: if one of them is no whole number or negative, or there is no class.
    """

    @dataclass
    class Config:
        pass

    includes_targets = False
    """Whether every target of the batch is always in the sample."""

    def __init__(self, num_classes: int, num_sampled: int):
        numbers = f"num_sampled={num_sampled} of num_classes={num_classes}"
        try:
            num_classes, num_sampled = operator.index(num_classes), operator.index(num_sampled)
        except TypeError:
            raise UserError(f"{numbers}: must be whole numbers") from None
        if num_classes < 1 or num_sampled < 0:
            raise UserError(f"{numbers}: must be at least 0 of at least 1")
        self.num_classes = num_classes
        self.num_sampled = num_sampled

    @classmethod
    @abstractmethod
    def build(cls, config: Any, dictionary: Any, num_sampled: int) -> "Sampler":
        """Build the sampler from the options of its ``Config``.

        Args:
            config: has the fields of ``cls.Config`` as attributes.
            dictionary: the target dictionary.
            num_sampled: number of classes to draw.
        Raises:
            UserError: if the dictionary lacks what the sampler needs.
        """

    @abstractmethod
    def sample(self, targets: Tensor, generator: np.random.Generator) -> ClassSample:
        """Sample classes for one batch.

        Args:
            targets: class ids, ``(N,)``, padding removed; not to be changed.
            generator: the only RNG.
        Returns:
            Tensors on the device of ``targets``; logarithms in float64. An upload must not block
            (``.to(targets.device, non_blocking=True)``).
        """


class ProposalSampler(Sampler):
    """Draws with replacement from a fixed distribution over the classes.

    Args:
        probabilities: ``Q``, ``(V,)``, positive; need not be normalized.
        num_sampled: number of draws. A class drawn more than once is scored once.
    Raises:
        UserError: if they are no list of numbers, or one is not positive or beyond the range of
            float64.
    """

    advice = "give every class a positive weight (the options of this --sampler)"
    """What to do about impossible probabilities, the end of an error message."""

    def __init__(self, probabilities: np.ndarray, num_sampled: int):
        probabilities = np.asarray(probabilities, dtype=np.float64)
        if probabilities.ndim != 1:
            raise UserError(f"probabilities {probabilities.shape}: must be (V,), one per class")
        super().__init__(len(probabilities), num_sampled)
        check_proposal(probabilities, self.advice)
        if not probabilities.all():
            raise UserError(
                f"the sampler gives class {probabilities.argmin()} the probability 0, so it could "
                f"never be sampled: every class needs one above 0; {self.advice}"
            )
        self._cumulative = np.cumsum(probabilities)
        with np.errstate(divide="ignore"):  # minus infinity without draws
            expected = np.log(probabilities / probabilities.sum() * num_sampled)
        self.log_expected_counts = torch.from_numpy(expected)
        """``(V,)``, ``log c_k`` of every class."""

    def sample(self, targets: Tensor, generator: np.random.Generator) -> ClassSample:
        # Inverse CDF in float64: exact for any number of classes. In order, searches are local.
        points = np.sort(generator.random(self.num_sampled)) * self._cumulative[-1]
        drawn = np.searchsorted(self._cumulative, points, side="right")
        # A point may be rounded up to the sum, beyond the last class.
        drawn = np.minimum(drawn, self.num_classes - 1)
        firsts = np.flatnonzero(np.diff(drawn, prepend=-1))
        found = np.stack([drawn[firsts], np.diff(firsts, append=len(drawn))])
        ids, counts = torch.from_numpy(found).to(targets.device, non_blocking=True)
        if self.log_expected_counts.device != targets.device:
            self.log_expected_counts = self.log_expected_counts.to(targets.device)
        return ClassSample(ids, self.log_expected_counts[ids] - counts.double().log())


def check_proposal(weights: np.ndarray, advice: str) -> None:
    """Refuse weights that are negative, not numbers, or beyond the range of float64.

    Args:
        weights: ``(V,)``.
        advice: what to do, the end of a message.
    Raises:
        UserError: if there is one, the sum is infinite, or a positive weight's share of it rounds
            to 0.
    """
    wrong = np.flatnonzero(~(weights >= 0))
    if len(wrong):
        raise UserError(
            f"the sampler gives class {wrong[0]} the weight {weights[wrong[0]]:g} ({len(wrong):,} "
            f"such): must be a positive number; {advice}"
        )
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        shares = weights / weights.sum()
    if not (np.isfinite(shares) & ((shares > 0) | (weights == 0))).all():
        raise UserError(
            f"the sampler's weights range from {weights.min():g} to {weights.max():g}: their sum, "
            f"or the smallest one's share of it, exceeds double precision; {advice}"
        )
