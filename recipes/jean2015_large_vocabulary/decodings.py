"""What the names of decodings mean, and which candidate lists are the best ones on the dev set.

    python recipes/jean2015_large_vocabulary/decodings.py results/jean2015/ledger.jsonl

prints for example k2000.kp10: K = 2,000 frequent words and K' = 10 translations of each.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import ledger
from recorded_runs import Runs

LISTS = re.compile(r"(?P<model>.+)\.k(?P<frequent>\d+)\.kp(?P<per_word>\d+)")


class Lists(NamedTuple):
    """A model decoded over the candidates of each sentence."""

    model: str
    frequent: int  # K
    per_word: int  # K'

    def __str__(self) -> str:
        return f"{self.model}.k{self.frequent}.kp{self.per_word}"


def lists_of(runs: Runs, model: str) -> list[Lists]:
    """Those of a model that the ledger holds, by K and K', without UNK replacement or the like."""
    matches = [match for arm in runs.arms if (match := LISTS.fullmatch(arm))]
    found = [Lists(m["model"], int(m["frequent"]), int(m["per_word"])) for m in matches]
    return sorted(lists for lists in found if lists.model == model)


def choice(runs: Runs, default: str, model: str = "lv") -> str:
    """K and K' with the highest BLEU of the model on the dev set, the smaller ones among equals.

    Args:
        default: if there is none.
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


def main(arguments: list[str] | None = None) -> int:
    """Print the choice."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--default", default="k2000.kp10", help="as long as nothing was decoded")
    options = parser.parse_args(arguments)
    print(choice(Runs(ledger.read(options.ledger)), options.default))
    return 0


if __name__ == "__main__":
    sys.exit(main())
