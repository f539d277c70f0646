"""Inequalities about BLEU that must hold with length penalties 1 and 0.

At length penalty 0 the ledger has scores but no translations, so that interval is over seeds only.
"""

import math
from functools import partial

import numpy as np

from recipes.lab import claims
from recipes.lab.claims import MARGIN, Part, judge
from recipes.lab.runs import Runs, Weights
from recipes.lab.scores.resampling import Estimate, estimate, over_seeds

FIGURE = "bleu_lenpen0"


def at_zero(runs: Runs, weights: Weights) -> Estimate | None:
    """The weighted sum of the arms' BLEU at length penalty 0; None if unknown."""
    arms = list(weights)
    found = np.array(runs.paired(arms, FIGURE))
    if not found.size:
        return None
    sums = np.array([weights[arm] for arm in arms]) @ found
    return estimate(over_seeds(sums[:, None]), len(sums))


def weighted(
    runs: Runs,
    inequality: str,
    weights: Weights,
    low: float = 0.0,
    high: float = math.inf,
    margin: float = MARGIN,
) -> Part:
    """Like `claims.weighted`, but undecided if length penalty 0 disagrees."""
    part = claims.weighted(runs, inequality, weights, low, high, margin)
    if part.verdict == claims.NOT_RUN or (found := at_zero(runs, weights)) is None:
        return part
    other = judge(found, low, high, margin)
    shown = f"{found.value:+.2f}"
    if found.seeds > 1:
        shown += f" [{found.low:+.2f}, {found.high:+.2f}] over seeds alone"
    return part._replace(
        verdict=part.verdict if other == part.verdict else claims.UNDECIDED,
        numbers=f"{part.numbers}; at length penalty 0: {shown}",
    )


at_least = partial(claims.at_least, decide=weighted)
about_equal = partial(claims.about_equal, decide=weighted)
