"""Check that the disk has room for a checkpoint before writing it."""

import os
import shutil
from typing import Any, Dict, Iterator

import numpy as np
import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError


def require_room(path: str, size: int) -> None:
    """Refuse to start writing a file that does not fit.

    The old file of this name stays until the new one is complete, so its space does not count.
    Quotas are not checked; writing then fails later.

    Args:
        path: the file to write.
        size: its size in bytes.
    Raises:
        UserError: if the disk has less free space.
    """
    free = shutil.disk_usage(os.path.dirname(os.path.abspath(path))).free
    if size > free:
        raise UserError(
            f"cannot write {path}: it needs {_readable(size)}, {_readable(size - free)} more than "
            "its disk has free. Earlier checkpoints are unchanged; free disk space and run the "
            "same command again to resume."
        )


def _readable(size: int) -> str:
    """A size in bytes, kB, MB or GB, rounded up."""
    power = min(3, (len(str(size)) - 1) // 3)
    if power == 0:
        return f"{size} bytes"
    return f"{-(-size * 10 // 1000**power) / 10:.1f} {('kB', 'MB', 'GB')[power - 1]}"


def size_of(state: Any) -> int:
    """Bytes of all tensors and arrays in ``state``, a lower bound of ``torch.save``'s file."""
    storages: Dict[Any, int] = {}
    arrays = 0
    for leaf in leaves(state):
        if isinstance(leaf, Tensor) and leaf.layout == torch.strided:
            # torch.save writes a storage once and whole, whatever views there are.
            storage = leaf.untyped_storage()
            storages[storage.device, storage.data_ptr()] = storage.nbytes()
        elif isinstance(leaf, np.ndarray):
            arrays += leaf.nbytes
    return sum(storages.values()) + arrays


def leaves(state: Any) -> Iterator[Any]:
    """All values in nested dicts, lists, tuples and sets."""
    if isinstance(state, dict):
        state = list(state.values())
    if isinstance(state, (list, tuple, set)):
        for part in state:
            yield from leaves(part)
    else:
        yield state
