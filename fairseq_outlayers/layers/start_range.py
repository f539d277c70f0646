"""Initialization ranges by the width of the model."""

import math
from typing import NamedTuple


class PublishedStart(NamedTuple):
    """The range (or the standard deviation) that a paper gives for models of one width."""

    spread: float
    width: int


def start_spread(given: float, width: int, *published: PublishedStart) -> float:
    """The range or deviation of the weights at the start, so that products keep their variance.

    The variance of ``W x`` is ``width * Var(W) * Var(x)``: weights of another width start in
    ``spread * sqrt(published width / width)``. At a published width this is the published value.

    Args:
        given: on the command line; 0 if none was.
        width: inputs of most products, ``--hidden-size``.
        published: of one or several widths; the one nearest in ratio counts.
    """
    if given:
        return given
    nearest = min(published, key=lambda start: abs(math.log(start.width / width)))
    return nearest.spread * math.sqrt(nearest.width / width)
