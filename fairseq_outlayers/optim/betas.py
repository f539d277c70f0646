"""The option ``--adam-betas``."""

import ast
from typing import Tuple

from fairseq_outlayers.errors import UserError


def parse_betas(text: str) -> Tuple[float, float]:
    """Parse text like ``(0.9, 0.98)``.

    Raises:
        UserError: if it is not two numbers in [0, 1).
    """
    try:
        first, second = map(float, ast.literal_eval(str(text)))
    except (ValueError, TypeError, SyntaxError):
        first = second = -1.0
    if not (0 <= first < 1 and 0 <= second < 1):
        raise UserError(
            f"--adam-betas {text}: must be two numbers of at least 0 and below 1, as in "
            "--adam-betas '(0.9, 0.98)'"
        )
    return first, second
