"""Importance sampling with a proposal distribution from a file."""

import logging
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import numpy as np

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.text import read_lines
from fairseq_outlayers.ranges import share
from fairseq_outlayers.samplers.base import ProposalSampler, check_proposal

logger = logging.getLogger(__name__)


class ProposalFileSampler(ProposalSampler):
    """``Q(k) = (1 - s) w(k) / W + s / V``, weights ``w`` from a file (Jean et al. 2015, Sec. 3).

    ``W`` is the sum of all weights, ``s`` the smoothing. To estimate a softmax, ``Q(k)`` must be
    positive for all classes, so a class without a weight is refused unless ``s`` is above 0. Only
    padding, and ``<s>``, which is a target with ``--add-bos-token`` alone, get the smallest weight
    in the file by default; ``</s>`` and ``<unk>`` are words like others.
    """

    advice = "scale the weights of --proposal-file"

    @dataclass
    class Config(ProposalSampler.Config):
        proposal_file: Optional[str] = field(
            default=None,
            metadata={
                "help": "for --sampler proposal: UTF-8 lines of a word, a tab or space, and its "
                "weight; the weights need not sum to one"
            },
        )
        proposal_smoothing: float = share(
            0.0,
            "share of the proposal that is uniform over all classes; above 0, words may be missing "
            "from --proposal-file",
        )

    @classmethod
    def build(cls, config: Any, dictionary: Any, num_sampled: int) -> "ProposalFileSampler":
        if not config.proposal_file:
            raise UserError(
                "--sampler proposal needs --proposal-file, with a word and its weight on each line"
            )
        if not Path(config.proposal_file).is_file():
            raise UserError(
                f"--proposal-file {config.proposal_file}: no such file; check the path. For "
                "fairseq-validate, which takes it from the checkpoint, add --criterion "
                "sampled_softmax --sampler proposal --num-sampled 1 --proposal-file FILE"
            )
        weights = _weights_of_classes(config.proposal_file, dictionary)
        if config.proposal_smoothing == 0.0:
            _require_all(weights, dictionary, config.proposal_file)
        check_proposal(weights, cls.advice)
        uniform = config.proposal_smoothing / len(weights)
        return cls((1 - config.proposal_smoothing) * weights / weights.sum() + uniform, num_sampled)


def _weights_of_classes(path: str, dictionary: Any) -> np.ndarray:
    """``(V,)`` weights in float64, 0 for classes that the file does not have."""
    table = read_weights(path)
    weights = np.zeros(len(dictionary))
    others = []
    for word, weight in table.items():
        number = dictionary.indices.get(word, len(dictionary))
        if number < len(dictionary):
            weights[number] = weight
        else:  # also if --output-dictionary-size cuts it off
            others.append(word)
    if not weights.any():
        raise UserError(
            f"{path}: none of its {len(table):,} words is in the target dictionary; use the words "
            "of that dictionary"
        )
    if others:
        logger.warning(
            f"{path}: {len(others):,} of {len(table):,} words are not in the target dictionary and "
            f"are ignored (the first: {others[0]!r})"
        )
    never_targets = [dictionary.bos(), dictionary.pad()]
    smallest = weights[weights > 0].min()
    weights[never_targets] = np.where(weights[never_targets] > 0, weights[never_targets], smallest)
    return weights


def _require_all(weights: np.ndarray, dictionary: Any, path: str) -> None:
    missing = np.flatnonzero(weights == 0)
    if len(missing):
        raise UserError(
            f"{path}: no weight for {len(missing):,} of the {len(weights):,} classes of the target "
            f"dictionary (the first: {dictionary[missing[0]]!r}), so they could never be sampled: "
            "add them, or set --proposal-smoothing to a value above 0, such as 0.01"
        )


def read_weights(path: str) -> Dict[str, float]:
    """Words and their weights.

    Args:
        path: UTF-8 lines of a word, a tab or a space, and a weight above 0.
    Raises:
        UserError: if the file cannot be read, or a line has another format.
    """
    table: Dict[str, float] = {}
    for number, line in enumerate(read_lines(path), start=1):
        word, weight = _parse(line, f"{path}:{number}")
        if word in table:
            raise UserError(f"{path}:{number}: the word {word!r} is repeated; list it once")
        table[word] = weight
    return table


def _parse(line: str, location: str) -> Tuple[str, float]:
    word, _, number = line.rpartition("\t" if "\t" in line else " ")
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not word or not 0 < weight < math.inf:
        raise UserError(
            f"{location}: {line!r} is not a word, a tab or a space, and a weight above 0"
        )
    return word, weight
