"""What a loss returns: a sum, or one value per position."""


def check_reduction(reduction: str) -> None:
    """Refuse an unknown reduction.

    Raises:
        ValueError: names it and the two choices.
    """
    if reduction not in ("sum", "none"):
        raise ValueError(
            f"reduction={reduction!r}: must be 'sum' or 'none' (one value per position)"
        )
