"""The batch's targets as negatives, filled up with uniform samples."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.losses.checks import check_flat
from fairseq_outlayers.samplers.base import ClassSample, Sampler
from fairseq_outlayers.samplers.uniform import distinct, log_counts


class BatchNegativesSampler(Sampler):
    """All distinct targets of the batch and padding, and uniform negatives (Pappas et al. 2018).

    ``num_sampled`` counts both. If the batch has more distinct targets, all of them are scored,
    without further negatives.

    Args:
        num_classes: ``V``.
        num_sampled: total number of classes.
        padding_idx: always included, as in the authors' code.
    Raises:
        UserError: if padding is no class.
    """

    includes_targets = True

    def __init__(self, num_classes: int, num_sampled: int, padding_idx: int):
        super().__init__(num_classes, num_sampled)
        if not 0 <= padding_idx < num_classes:
            raise UserError(f"padding_idx={padding_idx}: must be a class, 0 to {num_classes - 1}")
        self.padding_idx = padding_idx

    @classmethod
    def build(cls, config: Any, dictionary: Any, num_sampled: int) -> "BatchNegativesSampler":
        return cls(len(dictionary), num_sampled, dictionary.pad())

    def sample(self, targets: Tensor, generator: np.random.Generator) -> ClassSample:
        check_flat(targets)
        positives = torch.cat([targets, targets.new_full((1,), self.padding_idx)]).unique()
        num_others = self.num_classes - len(positives)
        num_negatives = min(max(0, self.num_sampled - len(positives)), num_others)
        negatives = skip(
            positives,
            distinct(num_others, num_negatives, generator).to(targets.device, non_blocking=True),
        )
        ids, order = torch.cat([positives, negatives]).sort()
        # Positives are always included, so only negatives are corrected.
        log_share = math.log(num_negatives / num_others) if num_negatives else 0.0
        log_expected_count = torch.cat(
            [log_counts(positives, 0.0), log_counts(negatives, log_share)]
        )[order]
        return ClassSample(ids, log_expected_count)


def skip(excluded: Tensor, ranks: Tensor) -> Tensor:
    """The ids with the given ranks among all ids that are not excluded.

    Args:
        excluded: ascending ids, ``(P,)``.
        ranks: from 0, ``(S,)``.
    Returns:
        ``(S,)`` ids.
    """
    # excluded[i] has excluded[i] - i smaller ids that are not excluded.
    before = excluded - torch.arange(len(excluded), device=excluded.device)
    return ranks + torch.searchsorted(before, ranks, right=True)
