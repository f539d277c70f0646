"""A table of external vectors on disk, read a batch at a time."""

import json
import mmap
import zlib
from pathlib import Path
from typing import Any, Dict

import numpy as np
import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import fingerprint

MAKER = "data_prep/extract_embeddings.py"
VERSION = "external_table_version"
ROWS_AT_ONCE = 256


class ExternalTable:
    """The vectors of all symbols of a dictionary, in a memory-mapped NumPy file.

    Not a module: neither the optimiser nor a checkpoint nor a device ever holds the table, and
    copies of a model share it. What a batch asks for is read; the rest stays on disk.

    Args:
        path: written by ``data_prep/extract_embeddings.py``, its checksums beside it.
        dictionary: whose symbols the rows belong to.
        checks_all: whether to read the whole file for its checksum, not only some blocks.
        option: that names the file, for messages.
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
        facts = self._read_facts()
        self._check_bytes(facts, checks_all)
        self._check_dictionary(facts, dictionary)
        self._rows = _open(self.path)
        if self._rows.shape != (facts["rows"], facts["dimensions"]):
            raise UserError(f"{path}: is {self._rows.shape}, but {path}.json says otherwise")
        # Of all words without one; data_prep makes it the mean of all vectors.
        self.unknown = torch.from_numpy(np.array(self._rows[dictionary.unk()]))
        # Fits int64, and tells tables of different sizes apart even where checksums are equal.
        self.version = (len(self._rows) << 32) | facts["crc32"]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._rows)

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        return self._rows.shape[1]

    def vectors(self, ids: Tensor) -> Tensor:
        """Vectors of ``ids`` ``(...)`` on their device: ``(..., dimensions)``, as in the file."""
        wanted = ids.reshape(-1).cpu().numpy()
        rows = np.empty((len(wanted), self.dimensions), self._rows.dtype)
        table = np.asarray(self._rows)
        for start in range(0, len(wanted), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            np.take(table, wanted[part], axis=0, out=rows[part])
            _release(self._rows)
        return torch.from_numpy(rows).to(ids.device).view(*ids.shape, -1)

    def is_unknown(self, vectors: Tensor) -> Tensor:
        """Where ``vectors(ids)`` ``(..., dimensions)`` are the one shared by unknown words."""
        return (vectors == self.unknown.to(vectors.device)).all(-1)

    def register(self, module: nn.Module) -> None:
        """Save the table's checksum with ``module``; refuse a checkpoint that has another one."""
        # An integer named "version" survives half precision and moving averages.
        module.register_buffer(VERSION, torch.tensor(self.version))
        module.register_load_state_dict_pre_hook(self._compare_versions)

    def __deepcopy__(self, memo: Dict[int, Any]) -> "ExternalTable":
        return self

    def _compare_versions(self, module: Any, state: Dict[str, Any], prefix: str, *_: Any) -> None:
        # The state of a moving average lacks it: fairseq averages without integers.
        found = int(state.setdefault(prefix + VERSION, torch.tensor(self.version)))
        if found != self.version:
            raise UserError(
                f"{self.path}: is not the table that the checkpoint was trained with "
                f"({found >> 32:,} rows with CRC-32 {found & 0xFFFFFFFF:08x} in training; "
                f"{self.version >> 32:,} rows with {self.version & 0xFFFFFFFF:08x} now): pass "
                f"that one, {self._override()}"
            )

    def _override(self) -> str:
        return f"--model-overrides \"{{'{self.option}': 'FILE.npy'}}\""

    def _read_facts(self) -> Dict[str, Any]:
        """The sidecar."""
        sidecar = Path(f"{self.path}.json")
        for needed in (self.path, sidecar):
            if not needed.is_file():
                raise UserError(
                    f"{needed}: no such file; {MAKER} writes PREFIX.npy and PREFIX.npy.json. To "
                    f"translate with a model whose table has moved, pass {self._override()}"
                )
        try:
            facts = json.loads(sidecar.read_text(encoding="utf-8"))
            _check_facts(facts)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(
                f"{sidecar}: is damaged ({error}); make it again with {MAKER}"
            ) from error
        return facts

    def _check_bytes(self, facts: Dict[str, Any], checks_all: bool) -> None:
        size = self.path.stat().st_size
        if size != facts["bytes"]:
            raise UserError(
                f"{self.path}: {size:,} bytes, but {facts['bytes']:,} were written; the file is "
                f"cut short or another one: make it again with {MAKER}"
            )
        with open(self.path, "rb") as file:
            for start, checksum in facts["blocks"].items():
                file.seek(int(start))
                if zlib.crc32(file.read(facts["block_bytes"])) != checksum:
                    raise UserError(self._damaged(f"after byte {int(start):,}"))
            if checks_all:
                file.seek(0)
                whole = 0
                while data := file.read(1 << 22):
                    whole = zlib.crc32(data, whole)
                if whole != facts["crc32"]:
                    raise UserError(self._damaged("somewhere"))

    def _damaged(self, where: str) -> str:
        return (
            f"{self.path}: differs {where} from what was written ({self.path}.json has the "
            f"checksums); make it again with {MAKER}"
        )

    def _check_dictionary(self, facts: Dict[str, Any], dictionary: Any) -> None:
        symbols, checksum = facts["dictionary"]["symbols"], facts["dictionary"]["crc32"]
        if fingerprint(dictionary) == (symbols << 32) | checksum:
            return
        if symbols == len(dictionary):
            difference = f"both have {symbols:,} symbols, but not the same ones in the same order"
        else:
            difference = f"{symbols:,} rows, {len(dictionary):,} symbols"
        raise UserError(
            f"{self.path}: belongs to another dictionary ({difference}); binarize with the "
            "PREFIX.dict.txt that was written with the table (fairseq-preprocess --srcdict or "
            f"--tgtdict, --padding-factor 1), or make a table for this data with {MAKER}"
        )


def _check_facts(facts: Any) -> None:
    """Raise a ``ValueError`` or its like unless the sidecar has what was written, in its types."""
    numbers = {name: facts[name] for name in ("rows", "dimensions", "bytes", "crc32")}
    numbers |= {f"dictionary's {name}": facts["dictionary"][name] for name in ("symbols", "crc32")}
    numbers["block_bytes"] = facts["block_bytes"]
    for start, checksum in facts["blocks"].items():
        numbers[f"block at {int(start)}"] = checksum
        if int(start) < 0:
            raise ValueError(f"a block at {start}")
    for name, number in numbers.items():
        if type(number) is not int or number < 0:
            raise ValueError(f"{name} is {number!r}, no whole number of at least 0")
    if not facts["blocks"] or not facts["block_bytes"]:
        raise ValueError("no checksums of blocks")


def _open(path: Path) -> np.ndarray:
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(rows, np.ndarray) or not np.issubdtype(rows.dtype, np.floating):
            raise ValueError(f"holds {getattr(rows, 'dtype', 'no array')}, and vectors are floats")
    except (ValueError, EOFError, OverflowError, TypeError, SyntaxError) as error:
        raise UserError(
            f"{path}: is no NumPy file of vectors ({error}); make it with {MAKER}"
        ) from error
    return rows


def _release(rows: np.ndarray) -> None:
    """Give mapped pages back: of every row read, its neighbours in 64 kB are mapped as well.

    They stay in the system's cache, which is not this process's memory.
    """
    mapping = getattr(rows, "_mmap", None)
    if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)
