"""Write a table of external vectors and its sidecar (``external_table.py``)."""

import io
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import checksum
from fairseq_outlayers.formats.external_table import file_checksum
from fairseq_outlayers.formats.output_file import OutputFile

PRECISIONS = {"fp16": np.dtype("<f2"), "fp32": np.dtype("<f4")}
BLOCK_BYTES = 4096
BLOCKS = 64


class TableWriter:
    """Writes a NumPy file row by row in any order; the number of rows is set at the end.

    Args:
        output: the file, opened by ``write_together``.
        dimensions: of a row.
        dtype: of the numbers.
    """

    def __init__(self, output: OutputFile, dimensions: int, dtype: np.dtype):
        self.output = output
        self.dimensions = dimensions
        self.dtype = dtype
        self.row_bytes = dimensions * dtype.itemsize
        self.data_start = len(self._header(0))

    def write_rows(self, rows: Sequence[int], vectors: np.ndarray) -> None:
        """Write ``vectors``, ``(len(rows), dimensions)``, into ``rows``.

        Raises:
            UserError: if a number is too large for the precision.
        """
        with np.errstate(over="ignore"):
            data = np.ascontiguousarray(vectors, self.dtype)
        if not np.isfinite(data).all():
            largest = float(np.abs(vectors).max())
            raise UserError(
                f"{self.output.path}: {largest:g} is too large for half precision; pass "
                "--precision fp32"
            )
        if len(rows) and list(rows) == list(range(rows[0], rows[0] + len(rows))):
            self._write_at(self.data_start + rows[0] * self.row_bytes, data.tobytes())
            return
        for row, vector in zip(rows, data, strict=True):
            self._write_at(self.data_start + row * self.row_bytes, vector.tobytes())

    def read_row(self, row: int) -> np.ndarray:
        """A row that was written before, in the file's precision."""
        with open(self.output.temporary, "rb") as file:
            file.seek(self.data_start + row * self.row_bytes)
            return np.frombuffer(file.read(self.row_bytes), self.dtype)

    def finish(self, rows: int) -> None:
        """Write the header of a table with this number of rows."""
        header = self._header(rows)
        assert len(header) == self.data_start  # NumPy pads the header for any number of rows
        self._write_at(0, header)

    def _write_at(self, position: int, data: bytes) -> None:
        try:
            # Bypasses Python's buffer, which every seek would flush.
            written = os.pwrite(self.output.file.fileno(), data, position)
        except OSError as error:
            raise UserError(f"{self.output.path}: cannot be written: {error.strerror}") from error
        if written != len(data):
            raise UserError(f"{self.output.path}: cannot be written: no space left")

    def _header(self, rows: int) -> bytes:
        stream = io.BytesIO()
        entry = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (rows, self.dimensions),
        }
        np.lib.format.write_array_header_1_0(stream, entry)
        return stream.getvalue()


def checksums(path: Path) -> dict[str, Any]:
    """Size, CRC-32 of the whole file and of evenly spaced blocks, by the offset of the block."""
    size = os.path.getsize(path)
    starts = range(0, size, max(BLOCK_BYTES, size // BLOCKS))
    blocks = {}
    with open(path, "rb") as file:
        for start in starts:
            file.seek(start)
            blocks[str(start)] = zlib.crc32(file.read(BLOCK_BYTES))
    facts = {"bytes": size, "crc32": file_checksum(path)}
    return {**facts, "block_bytes": BLOCK_BYTES, "blocks": blocks}


def dictionary_facts(symbols: Sequence[str]) -> dict[str, int]:
    """Number and CRC-32 of a dictionary's symbols, including the specials."""
    return {"symbols": len(symbols), "crc32": checksum(symbols)}


def write_json(output: OutputFile, content: dict[str, Any]) -> None:
    """Write an object, one entry per line."""
    for line in json.dumps(content, indent=1, ensure_ascii=False).split("\n"):
        output.write_line(line)
