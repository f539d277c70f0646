"""Texts longer than the positions that a model has learned."""

import math
from typing import Any, Iterable

from fairseq.modules import LearnedPositionalEmbedding

from fairseq_outlayers.errors import UserError


def learned_positions(parts: Iterable[Any]) -> float:
    """The number of positions that all encoders or decoders have a vector for; infinity for any."""
    return min(
        (
            part.max_positions()
            for part in parts
            if isinstance(getattr(part, "embed_positions", None), LearnedPositionalEmbedding)
        ),
        default=math.inf,
    )


def check_length(name: str, length: int, limit: float) -> None:
    """Refuse a text with more units, ``</s>`` included, than there are positions.

    Args:
        name: of the text, as in ``texts[3]``.
        length: number of its units, with ``</s>``.
        limit: number of positions.
    Raises:
        UserError: if the text is longer.
    """
    if length > limit:
        raise UserError(
            f"{name}: {length} units, with </s>, but the model has only {limit} positions; split "
            "or shorten it"
        )
