"""A table of external vectors, read from disk batch by batch."""

import mmap
from pathlib import Path
from typing import Any, Dict

import numpy as np
import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.external_table import open_table, override_hint
from fairseq_outlayers.tables.stored_version import accept, register_version

VERSION = "external_table_version"
ROWS_AT_ONCE = 256


class ExternalTable:
    """The vectors of all symbols of a dictionary, in a memory-mapped NumPy file.

    Not a module: the table is never in the optimizer, a checkpoint or device memory, and copies of
    a model share it. Only the rows of a batch are read.

    Args:
        path: written by ``data_prep/extract_embeddings.py``, beside its checksums.
        dictionary: whose symbols the rows belong to.
        checks_all: verify the checksum of the whole file, not only of some blocks.
        option: that names the file, for error messages.
    Raises:
        UserError: if the file is missing, damaged, or belongs to another dictionary.
    """

    def __init__(
        self,
        path: str,
        dictionary: Any,
        checks_all: bool = False,
        option: str = "external_embeddings",
    ):
        self.path = Path(path)
        self.option = option
        self._rows, crc32 = open_table(self.path, dictionary, checks_all, option)
        # The vector of all words without one; data_prep sets it to the mean of all vectors.
        self.unknown = torch.from_numpy(np.array(self._rows[dictionary.unk()]))
        self._unknown_there = self.unknown  # on the device that last asked
        # Fits int64; distinguishes sizes, too.
        self.version = (len(self._rows) << 32) | crc32

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._rows)

    @property
    def dimensions(self) -> int:
        """The size of a vector."""
        return self._rows.shape[1]

    def vectors(self, ids: Tensor) -> Tensor:
        """Vectors of ``ids`` ``(...)`` on their device, ``(..., dimensions)``, as in the file."""
        wanted = ids.reshape(-1).cpu().numpy()
        if wanted.size and wanted.min() < 0:  # NumPy would count from the end
            raise IndexError(f"id {wanted.min()}: must be at least 0")
        rows = np.empty((len(wanted), self.dimensions), self._rows.dtype)
        table = np.asarray(self._rows)
        for start in range(0, len(wanted), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            np.take(table, wanted[part], axis=0, out=rows[part])
            _release(self._rows)
        vectors = torch.from_numpy(rows).to(ids.device, non_blocking=True)
        return vectors.view(*ids.shape, self.dimensions)

    def is_unknown(self, vectors: Tensor) -> Tensor:
        """Where ``vectors(ids)`` ``(..., dimensions)`` are the shared vector of unknown words."""
        return (vectors == self.unknown_on(vectors.device)).all(-1)

    def unknown_on(self, device: torch.device) -> Tensor:
        """The vector of unknown words, ``(dimensions,)``, uploaded once."""
        found = self._unknown_there  # copies of a model on other devices share this object
        if found.device != device:
            found = self._unknown_there = self.unknown.to(device, non_blocking=True)
        return found

    def register(self, module: nn.Module) -> None:
        """Save the table's checksum with ``module``; refuse a checkpoint with another one."""
        version = torch.tensor(self.version)
        register_version(module, VERSION, version, self._refuse, on_missing=accept)

    def __deepcopy__(self, memo: Dict[int, Any]) -> "ExternalTable":
        return self

    def _refuse(self, found: Tensor, own: Tensor) -> None:
        trained = int(found)
        raise UserError(
            f"{self.path}: is not the table of the training ({trained >> 32:,} rows with CRC-32 "
            f"{trained & 0xFFFFFFFF:08x} in training; {self.version >> 32:,} rows with "
            f"{self.version & 0xFFFFFFFF:08x} now): pass the other one by "
            f"{override_hint(self.option)}"
        )


def _release(rows: np.ndarray) -> None:
    """Unmap pages: reading a row also maps its neighbours within 64 kB.

    They stay in the page cache, which does not count as memory of this process.
    """
    mapping = getattr(rows, "_mmap", None)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)
