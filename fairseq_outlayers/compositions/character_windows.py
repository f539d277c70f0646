"""The distinct character windows of a vocabulary.

A filter answers to a window alike wherever it stands: the 7,692 words of 6,000 sentences of the
Penn Treebank have 123,000 windows of six characters, padding included, of which 25,000 differ.
"""

from typing import List, NamedTuple, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.compositions.units import PADDING


class Windows(NamedTuple):
    """The windows of one width in ``N`` words.

    Attributes:
        units: every distinct one, ``(n, width)``.
        members: which of them stand in the words, one word after the other.
        starts: where in ``members`` each word begins, ``(N,)``.
    """

    units: Tensor
    members: Tensor
    starts: Optional[Tensor]


def all_windows(ids: Tensor, widest: int, masks_padding: bool) -> List[Windows]:
    """As :func:`distinct_windows`, but windows that are alike are listed as often as they come.

    How many differ would have to be asked of a device, for every width, and to look at some more of
    them costs an accelerator less. ``members`` is ``(N, places)`` and there are no ``starts``.
    """
    lengths = ids.ne(PADDING).sum(1, keepdim=True)
    ids, found = F.pad(ids, (0, max(0, widest - ids.size(1)))), []
    for width in range(1, widest + 1):
        windows = ids.unfold(1, width, 1)
        num_words, places = windows.shape[:2]
        place = torch.arange(places, device=ids.device)
        last = (lengths - width).clamp(min=0) if masks_padding else lengths
        # The first window always counts: it stands in for those that do not.
        place = torch.where(place <= last, place, 0)
        first = torch.arange(num_words, device=ids.device).unsqueeze(1) * places
        found.append(Windows(windows.flatten(0, 1), first + place, None))
    return found


def distinct_windows(ids: Tensor, widest: int, masks_padding: bool) -> List[Windows]:
    """The windows of width 1, 2, ... ``widest``.

    Args:
        ids: the units of words, ``(N, L)``, filled up with ``PADDING``.
        masks_padding: leave out windows that reach beyond the word, but for its first. Otherwise
            all of the ``L`` places count; one window stands for all those of padding alone.
    """
    lengths = ids.ne(PADDING).sum(1, keepdim=True)
    ids = F.pad(ids, (0, max(0, widest - ids.size(1))))
    num_units = int(ids.max()) + 1 if len(ids) else 1
    found, numbers = [], torch.zeros_like(ids)
    for width in range(1, widest + 1):
        windows = ids.unfold(1, width, 1)
        # A window one narrower, and the unit after it.
        codes = numbers[:, : windows.size(1)] * num_units + windows[:, :, -1]
        distinct, numbers = codes.unique(return_inverse=True)
        places = torch.arange(numbers.numel(), device=ids.device)
        somewhere = torch.empty_like(distinct).scatter_(0, numbers.flatten(), places)
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
