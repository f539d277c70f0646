"""Outputs of a recurrent decoder over all steps."""

from typing import NamedTuple

from torch import Tensor


class Steps(NamedTuple):
    """Outputs of the recurrence for consecutive target positions."""

    states: Tensor  # s_t, (B, T, H)
    contexts: Tensor  # c_t, (B, T, C)
    attention: Tensor  # (B, T, S)
