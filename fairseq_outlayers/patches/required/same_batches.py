"""Refuse to resume within an epoch with other batches.

A checkpoint says how many batches of its epoch are done. A run that resumes with another
``--max-tokens``, ``--batch-size``, ``--seed``, number of processes or text builds other batches,
and ``EpochBatchIterator.load_state_dict`` (fairseq/data/iterators.py) skips as many of these: some
sentences are silently left out in that epoch, and others repeated. The patch saves a checksum of
the batches and compares it.
"""

import zlib
from typing import Any, Callable, Dict, Optional

import numpy as np
from fairseq.data.iterators import EpochBatchIterator

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces

KEY = "outlayers_batches"
CACHED = "_outlayers_batches"


@replaces(EpochBatchIterator, "state_dict")
def _save_checksum(stock: Callable[..., Any], self: Any) -> Dict[str, Any]:
    state = stock(self)
    if state["iterations_in_epoch"] > 0:
        found = checksum(self)
        return state if found is None else {**state, KEY: found}
    return state


@replaces(EpochBatchIterator, "load_state_dict")
def _compare_checksum(stock: Callable[..., Any], self: Any, state_dict: Dict[str, Any]) -> None:
    known, done = state_dict.get(KEY), state_dict.get("iterations_in_epoch", 0)
    if known is not None and done > 0:
        self.epoch = state_dict["epoch"]
        self.shuffle = state_dict.get("shuffle", True)  # partitions order their batches by it
        if checksum(self) not in (known, None):
            raise UserError(
                f"the checkpoint has trained on {done} batches of epoch {self.epoch}, but this "
                "run has other batches (another --max-tokens, --batch-size, --seed, number of "
                "processes or text), so sentences would be left out: use the options of the "
                "checkpoint, or begin the epoch anew by --reset-dataloader"
            )
    stock(self, state_dict)


def checksum(iterator: Any) -> Optional[int]:
    """CRC-32 of the batches of an epoch and of what orders and divides them.

    None if the batches are those of one process only, or their sentences are not numbers.
    """
    if not getattr(iterator, "has_all_batches", True):
        return None
    batches = iterator.frozen_batches
    cached = getattr(iterator, CACHED, None)
    if cached is None or cached[0] is not batches:
        cached = batches, _checksum(batches, iterator.seed, iterator.num_shards)
        setattr(iterator, CACHED, cached)
    return cached[1]


def _checksum(batches: Any, seed: int, num_shards: int) -> Optional[int]:
    sizes = np.fromiter(map(len, batches), np.int64, len(batches))
    try:
        ids = np.concatenate([np.asarray(batch, np.int64) for batch in batches])
    except (TypeError, ValueError):
        return None
    head = np.array([seed, num_shards], np.int64)
    return zlib.crc32(ids.tobytes(), zlib.crc32(sizes.tobytes(), zlib.crc32(head.tobytes())))
