"""Batches of sentences of different lengths."""

from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from fairseq.data.data_utils import collate_tokens
from torch import Tensor


def batches(lengths: Dict[int, int], batch_size: int) -> Iterator[List[int]]:
    """Numbers of sentences, the longest first: less padding, and fairseq's LSTM needs the order."""
    order = sorted(lengths, key=lengths.__getitem__, reverse=True)
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def as_sample(
    pairs: Sequence[Tuple[Tensor, Optional[Tensor]]], dictionary: Any, left: bool
) -> Dict[str, Any]:
    """A batch of sources and translations in fairseq's format.

    Args:
        pairs: ids of a source and of its translation, each with ``</s>``; the latter may be None.
        dictionary: of the source words; padding and ``</s>`` are those of both sides.
        left: pad sources on the left. Translations are padded on the right.
    """
    pad, eos = dictionary.pad(), dictionary.eos()
    sources = [source for source, _ in pairs]
    sample: Dict[str, Any] = {
        "id": torch.arange(len(pairs)),
        "nsentences": len(pairs),
        "net_input": {
            "src_tokens": collate_tokens(sources, pad, left_pad=left),
            "src_lengths": torch.tensor([len(source) for source in sources]),
        },
    }
    targets = [target for _, target in pairs if target is not None]
    if targets:
        sample["target"] = collate_tokens(targets, pad)
        sample["net_input"]["prev_output_tokens"] = collate_tokens(
            targets, pad, eos, move_eos_to_beginning=True
        )
    return sample


def allowed_ids(candidates: Any, row: int) -> Tensor:
    """The candidate ids of one sentence."""
    chosen = torch.ones(len(candidates.ids), dtype=torch.bool)
    if candidates.allowed is not None:
        chosen = candidates.allowed[row].cpu().clone()
    chosen[candidates.closed.cpu()] = False
    return candidates.ids.cpu()[chosen]
