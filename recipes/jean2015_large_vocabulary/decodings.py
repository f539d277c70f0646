"""Decodings over candidate lists of several sizes, and the choice on the dev set."""

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from recipes.lab.runs import Runs

LISTS = re.compile(r"(?P<model>.+)\.k(?P<frequent>\d+)\.kp(?P<per_word>\d+)")


class Lists(NamedTuple):
    """A model decoded over the candidates of each sentence."""

    model: str
    frequent: int  # K
    per_word: int  # K'

    def __str__(self) -> str:
        return f"{self.model}.k{self.frequent}.kp{self.per_word}"


def lists_of(runs: "Runs", model: str) -> list[Lists]:
    """Plain decodings of a model in the ledger, ordered by K and K'."""
    matches = [match for arm in runs.arms if (match := LISTS.fullmatch(arm))]
    found = [Lists(m["model"], int(m["frequent"]), int(m["per_word"])) for m in matches]
    return sorted(lists for lists in found if lists.model == model)


def choice(runs: "Runs", default: str, model: str = "lv") -> str:
    """K and K' with the highest BLEU on the dev set; the smaller ones if equal.

    Args:
        default: if there are none, e.g. ``k2000.kp10`` for K = 2,000 and K' = 10.
    """
    scores = {
        lists: score
        for lists in lists_of(runs, model)
        if (score := runs.figure(str(lists), "valid_bleu_tokenised")) is not None
    }
    if not scores:
        return default
    best = max(scores, key=lambda lists: scores[lists])  # the first of equals
    return str(best).removeprefix(f"{model}.")
