"""The distinct character windows of a vocabulary.

A filter has the same response to equal windows: the 7,692 words of 6,000 sentences of the Penn
Treebank have 123,000 windows of six characters, padding included, 25,000 of them distinct.
"""

from typing import List, NamedTuple, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.compositions.units import PADDING


class Windows(NamedTuple):
    """The windows of one width in ``N`` words.

    Attributes:
        units: the windows, ``(n, width)``.
        members: row numbers of ``units``, word by word.
        starts: offset of each word in ``members``, ``(N,)``.
    """

    units: Tensor
    members: Tensor
    starts: Optional[Tensor]


def all_windows(ids: Tensor, widest: int, masks_padding: bool) -> List[Windows]:
    """As :func:`distinct_windows`, without removing duplicates; for accelerators.

    Counting distinct windows would synchronize with the device for every width, which costs more
    than duplicates do. ``members`` is ``(N, positions)`` and ``starts`` is None.
    """
    lengths = ids.ne(PADDING).sum(1, keepdim=True)
    ids, found = F.pad(ids, (0, max(0, widest - ids.size(1)))), []
    for width in range(1, widest + 1):
        windows = ids.unfold(1, width, 1)
        num_words, num_positions = windows.shape[:2]
        position = torch.arange(num_positions, device=ids.device)
        last = (lengths - width).clamp(min=0) if masks_padding else lengths
        # The first window always counts, so it can replace masked ones.
        position = torch.where(position <= last, position, 0)
        first = torch.arange(num_words, device=ids.device).unsqueeze(1) * num_positions
        found.append(Windows(windows.flatten(0, 1), first + position, None))
    return found


def distinct_windows(ids: Tensor, widest: int, masks_padding: bool) -> List[Windows]:
    """The distinct windows of width 1, 2, ... ``widest``.

    Args:
        ids: the units of words, ``(N, L)``, padded with ``PADDING``.
        masks_padding: leave out windows that reach beyond the word, except its first. Otherwise
            all ``L`` positions count; one window represents all those of padding only.
    """
    lengths = ids.ne(PADDING).sum(1, keepdim=True)
    ids = F.pad(ids, (0, max(0, widest - ids.size(1))))
    num_units = int(ids.max()) + 1 if len(ids) else 1
    found, numbers = [], torch.zeros_like(ids)
    for width in range(1, widest + 1):
        windows = ids.unfold(1, width, 1)
        # A window is the narrower window at its start, and one more unit.
        codes = numbers[:, : windows.size(1)] * num_units + windows[:, :, -1]
        distinct, numbers = codes.unique(return_inverse=True)
        positions = torch.arange(numbers.numel(), device=ids.device)
        somewhere = torch.empty_like(distinct).scatter_(0, numbers.flatten(), positions)
        last = (lengths - width).clamp(min=0) if masks_padding else lengths
        counts = torch.arange(windows.size(1), device=ids.device) <= last
        number_of = counts.sum(1)
        found.append(
            Windows(
                windows.flatten(0, 1)[somewhere],
                numbers[counts],
                number_of.cumsum(0) - number_of,
            )
        )
    return found
