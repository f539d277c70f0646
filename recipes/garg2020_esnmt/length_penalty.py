"""Decodings of trained models with other length penalties (fairseq's ``--lenpen``).

A hypothesis is ranked by log p / length^penalty: a larger penalty favours longer translations. Each
model's is chosen on the validation set.
"""

import re
from typing import NamedTuple

from recipes.lab.runs import Runs

NAME = re.compile(r"(?P<model>.+)\.lenpen(?P<penalty>\d+(\.\d+)?)")
BY = "valid_bleu_tokenised"


class Decoded(NamedTuple):
    """A model decoded with a length penalty."""

    model: str
    penalty: str

    def __str__(self) -> str:
        return f"{self.model}.lenpen{self.penalty}"


def parse(arm: str) -> Decoded | None:
    """The parts of an arm's name; None if it is no such decoding."""
    match = NAME.fullmatch(arm)
    return Decoded(match["model"], match["penalty"]) if match else None


def of_model(runs: Runs, model: str) -> list[Decoded]:
    """The decodings of a model's newest setting in a ledger, by penalty."""
    found = [
        decoded
        for arm in runs.arms
        if (decoded := parse(arm)) and decoded.model == model and is_newest(runs, decoded)
    ]
    return sorted(found, key=lambda decoded: float(decoded.penalty))


def is_newest(runs: Runs, decoded: Decoded) -> bool:
    """Whether a decoding is of the setting of its model that counts."""
    model = decoded.model
    of = runs.entry(str(decoded)).get("setting", {}).get("of", {})
    return model not in of or model not in runs or of[model] == runs.entry(model)["key"]


def chosen(runs: Runs, model: str) -> Decoded | None:
    """The decoding with the highest BLEU on the validation set, the smaller penalty if equal.

    Only seeds that were decoded with all penalties count. None if there are none.
    """
    found = of_model(runs, model)
    by_seed = runs.paired(list(map(str, found)), BY) if found else []
    if not by_seed or not by_seed[0]:
        return None
    sums = [sum(values) for values in by_seed]
    return found[sums.index(max(sums))]
