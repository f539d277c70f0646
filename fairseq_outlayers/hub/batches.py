"""Batches of sentences of different lengths."""

from typing import Any, Dict, Iterator, List, Optional

import torch
from torch import Tensor


def batches(lengths: Dict[int, int], batch_size: int) -> Iterator[List[int]]:
    """Numbers of sentences, the longest first: less padding, and fairseq's LSTM needs the order."""
    order = sorted(lengths, key=lengths.__getitem__, reverse=True)
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def known(ids: Tensor, size: int, dictionary: Any) -> Tensor:
    """Ids with later additions to the dictionary replaced by ``<unk>``."""
    return ids.masked_fill(ids >= size, dictionary.unk())


def padded(rows: List[Tensor], pad: int, left: bool) -> Tensor:
    """Pad rows of different lengths to ``(N, T)``."""
    width = max(map(len, rows))
    padded = torch.full((len(rows), width), pad)
    for row, ids in enumerate(rows):
        padded[row, width - len(ids) if left else 0 :][: len(ids)] = ids
    return padded


def allowed_ids(candidates: Any, row: int) -> Optional[Tensor]:
    """The candidate ids of one sentence."""
    if candidates is None:
        return None
    chosen = torch.ones(len(candidates.ids), dtype=torch.bool)
    if candidates.allowed is not None:
        chosen = candidates.allowed[row].cpu().clone()
    chosen[candidates.closed.cpu()] = False
    return candidates.ids.cpu()[chosen]
