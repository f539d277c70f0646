"""Check that the disk has room for a checkpoint before writing it."""

import os
import shutil
from typing import Any, Dict, Iterator

import numpy as np
import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError


def require_room(path: str, size: int) -> None:
    """Refuse to begin with a file that does not fit.

    The file under the same name is kept until the new one is whole, so its room does not count. A
    quota is not seen; then writing fails later.

    Args:
        path: the file to be.
        size: its bytes.
    Raises:
        UserError: if the disk of the folder has less.
    """
    free = shutil.disk_usage(os.path.dirname(os.path.abspath(path))).free
    if size > free:
        raise UserError(
            f"cannot write {path}: it needs {_readable(size)}, {_readable(size - free)} more than "
            "its disk has free. What was saved before is unchanged; make room there and start the "
            "same command again to resume from it."
        )


def _readable(size: int) -> str:
    """A size in the unit that leaves one to three digits before the point, rounded up."""
    power = min(3, (len(str(size)) - 1) // 3)
    if power == 0:
        return f"{size} bytes"
    return f"{-(-size * 10 // 1000**power) / 10:.1f} {('kB', 'MB', 'GB')[power - 1]}"


def size_of(state: Any) -> int:
    """The bytes of all tensors and arrays in ``state``: from below, what ``torch.save`` writes."""
    storages: Dict[Any, int] = {}
    arrays = 0
    for leaf in leaves(state):
        if isinstance(leaf, Tensor) and leaf.layout == torch.strided:
            # A storage is written once, and whole, whatever views of it there are.
            storage = leaf.untyped_storage()
            storages[storage.device, storage.data_ptr()] = storage.nbytes()
        elif isinstance(leaf, np.ndarray):
            arrays += leaf.nbytes
    return sum(storages.values()) + arrays


def leaves(state: Any) -> Iterator[Any]:
    """Everything in dicts, lists, tuples and sets that is none itself."""
    if isinstance(state, dict):
        state = list(state.values())
    if isinstance(state, (list, tuple, set)):
        for part in state:
            yield from leaves(part)
    else:
        yield state
