"""Initialization ranges that depend on the model's width."""

import math
from typing import NamedTuple


class PublishedInit(NamedTuple):
    """A paper's initialization range (or standard deviation) for one width."""

    spread: float
    width: int


def init_spread(given: float, width: int, *published: PublishedInit) -> float:
    """The initialization range or deviation that preserves the variance of products.

    The variance of ``W x`` is ``width * Var(W) * Var(x)``, so the published spread is scaled by
    ``sqrt(published width / width)``.

    Args:
        given: on the command line; 0 if none was.
        width: inputs of most products, ``--hidden-size``.
        published: for one or more widths; the one nearest in ratio is used.
    """
    if given:
        return given
    nearest = min(published, key=lambda one: abs(math.log(one.width / width)))
    return nearest.spread * math.sqrt(nearest.width / width)
