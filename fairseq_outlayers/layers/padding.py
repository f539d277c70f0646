"""Index arithmetic for padded batches."""

from typing import Callable, Tuple

import torch
from torch import Tensor


def is_left_padded(padding_mask: Tensor) -> bool:
    """Whether a batch on a CPU is left-padded; False on other devices.

    Reading the mask from an accelerator would synchronize, which costs more than sorting a sorted
    batch.

    Args:
        padding_mask: True where padded, ``(B, S)``.
    """
    return padding_mask.device.type == "cpu" and not bool(padding_mask[:, -1].any())


def has_padding(padding_mask: Tensor) -> bool:
    """Whether a batch may have padding; exact on a CPU only, see :func:`is_left_padded`."""
    return padding_mask.device.type != "cpu" or bool(padding_mask.any())


def padding_first(padding_mask: Tensor) -> Tensor:
    """Positions in an order that moves padding to the front and is otherwise stable.

    Args:
        padding_mask: True where padded, ``(B, S)``.
    Returns:
        Indices into each row, ``(B, S)``; ``rows.gather(1, padding_first(mask))`` is left-padded.
    """
    return (~padding_mask).byte().argsort(dim=1, stable=True)


def reversal(padding_mask: Tensor) -> Tensor:
    """Positions that reverse each row of a left-padded batch but leave padding in front.

    Args:
        padding_mask: True where padded, ``(B, S)``, left-padded.
    Returns:
        Indices into each row, ``(B, S)``; the permutation is its own inverse.
    """
    length = padding_mask.size(1)
    position = torch.arange(length, device=padding_mask.device).expand_as(padding_mask)
    mirrored = length - 1 + padding_mask.sum(dim=1, keepdim=True) - position
    return torch.where(padding_mask, position, mirrored)


def take_positions(states: Tensor, positions: Tensor) -> Tensor:
    """Rows of ``states`` ``(B, S, D)`` at ``positions`` ``(B, S)``."""
    return states.gather(1, positions.unsqueeze(-1).expand_as(states))


def left_padded(
    ids: Tensor, padding_mask: Tensor
) -> Tuple[Tensor, Tensor, Callable[[Tensor], Tensor]]:
    """Move the padding of a batch to the left, where recurrent layers need it.

    Args:
        ids: token ids, ``(B, S)``, padded on either side.
        padding_mask: True where padded, ``(B, S)``.
    Returns:
        Ids and mask, ``(B, S)``, and a function that puts states ``(B, S, D)`` of that order into
        the given one.
    """
    if is_left_padded(padding_mask):
        return ids, padding_mask, lambda states: states
    order = padding_first(padding_mask)
    moved = ids.gather(1, order), padding_mask.gather(1, order)
    return *moved, lambda states: take_positions(states, order.argsort(1))


def flag_padding(inputs: Tensor, padding_mask: Tensor) -> Tensor:
    """Append the mask to inputs ``(B, S, D)`` as a number, 1 where padded: ``(B, S, D + 1)``."""
    return torch.cat([inputs, padding_mask.unsqueeze(-1).to(inputs)], dim=-1)
