"""Report a binarized text that is empty, truncated, or of another dictionary.

``load_indexed_dataset`` (fairseq/data/data_utils.py) does not check the text. An empty file ends in
``ValueError: cannot mmap an empty file`` or an AttributeError of a partial object; a truncated one
in a wrong translation or in a traceback at its end; ids beyond a dictionary that was edited later
in ``index out of range in self`` at the first such word.
"""

import os
import struct
from typing import Any, Callable, Iterator

import numpy as np
from fairseq.data import data_utils, fasta_dataset, indexed_dataset

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces

REMEDY = "binarize the text again with fairseq-preprocess"
LOOKED_AT = 1 << 28  # ids of a text to compare with the dictionary
HEADER = struct.Struct("<9sQBQ")
HEADER_MAGIC = indexed_dataset.MMapIndexedDataset.Index._HDR_MAGIC
# By the first bytes of an index.
FORMATS = {
    indexed_dataset.IndexedDataset._HDR_MAGIC: ("cached", "lazy"),
    HEADER_MAGIC[:8]: ("mmap",),
    indexed_dataset.HuffmanMMapIndex._HDR_MAGIC[:8]: ("huffman",),
}
DAMAGES = (ValueError, AttributeError, AssertionError, IndexError, EOFError, TypeError, KeyError,
           RuntimeError, MemoryError, struct.error)  # fmt: skip


# Tasks look it up in its module.
@replaces(data_utils, "load_indexed_dataset")
def _refuse_damaged_text(
    stock: Callable[..., Any],
    path: str,
    dictionary: Any = None,
    dataset_impl: Any = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    _check_files(path)
    _check_format(path, dataset_impl)
    try:
        dataset = stock(path, dictionary, dataset_impl, *args, **kwargs)
    except DAMAGES as error:
        raise UserError(f"{path}.idx or .bin: damaged ({str(error)[:100]}); {REMEDY}") from error
    for part in getattr(dataset, "datasets", [dataset]):
        if isinstance(part, indexed_dataset.MMapIndexedDataset):
            _check_text(part, dictionary, path)
    return dataset


def _check_files(path: str) -> None:
    for file in (f"{path}.idx", f"{path}.bin"):
        if os.path.exists(file) and not os.path.isfile(file):
            raise UserError(f"{file}: not a file; {REMEDY}")
        if os.path.exists(file) and os.path.getsize(file) == 0:
            raise UserError(f"{file}: an empty file; {REMEDY}")
    if os.path.exists(f"{path}.idx") != os.path.exists(f"{path}.bin"):
        missing = "bin" if os.path.exists(f"{path}.idx") else "idx"
        raise UserError(f"{path}.{missing}: no such file, but the other half exists; {REMEDY}")
    if os.path.exists(f"{path}.idx"):
        _check_index(f"{path}.idx")


def _check_format(path: str, asked: Any) -> None:
    """Refuse a format that the text does not have, of those that it may have beside another."""
    if asked is None:
        return
    formats = set()
    if os.path.exists(f"{path}.idx"):
        with open(f"{path}.idx", "rb") as index:
            formats = set(FORMATS.get(index.read(8), ()))
    formats |= {"raw"} if indexed_dataset.IndexedRawTextDataset.exists(path) else set()
    formats |= {"fasta"} if fasta_dataset.FastaDataset.exists(path) else set()
    if formats and str(asked) not in formats:
        found = " and ".join(sorted(formats))
        raise UserError(
            f"--dataset-impl {asked}: {path} is in the format {found}: leave the option out"
        )


def _check_index(file: str) -> None:
    """Compare the size of an index in fairseq's format MMIDIDX with its header.

    Before it is mapped, because deleting a partially constructed object prints an error.
    """
    with open(file, "rb") as index:
        head = index.read(HEADER.size)
    if not head.startswith(HEADER_MAGIC):
        return
    needed = HEADER.size
    if len(head) == HEADER.size:
        _, version, number_type, sentences = HEADER.unpack(head)
        needed += sentences * (4 + 8)  # a length and an offset each
        if version != 1 or number_type not in indexed_dataset._code_to_dtype:
            raise UserError(f"{file}: damaged, or another version; {REMEDY}")
    size = os.path.getsize(file)
    if size < needed:
        raise UserError(f"{file}: truncated or damaged ({size:,} bytes of {needed:,}); {REMEDY}")


def _check_text(dataset: Any, dictionary: Any, path: str) -> None:
    index, numbers = dataset._index, np.frombuffer(dataset._bin_buffer, np.uint8)
    if len(dataset) == 0:
        raise UserError(f"{path}: has no sentences; binarize a text that is not empty")
    sizes, pointers = np.asarray(index.sizes, np.int64), np.asarray(index._pointers)
    width = np.dtype(index.dtype).itemsize
    if sizes.min() < 0 or pointers.min() < 0:
        raise UserError(f"{path}.idx: damaged (a negative length); {REMEDY}")
    needed = int((pointers + sizes * width).max())
    if needed > len(numbers):
        raise UserError(
            f"{path}.bin: truncated ({len(numbers):,} bytes, but {path}.idx needs {needed:,}); "
            f"{REMEDY}"
        )
    largest = max((int(part.max()) for part in _parts(numbers, index.dtype)), default=0)
    if dictionary is not None and largest >= len(dictionary):
        raise UserError(
            f"{path}: has word id {largest}, but the dictionary has only {len(dictionary)} "
            f"symbols: they do not belong together; {REMEDY}, or restore the dictionary"
        )


def _parts(data: np.ndarray, dtype: Any) -> Iterator[np.ndarray]:
    """The first ids of a text in blocks, to limit memory."""
    width, block = np.dtype(dtype).itemsize, 1 << 22
    numbers = data[: len(data) // width * width].view(dtype)[:LOOKED_AT]
    for start in range(0, len(numbers), block):
        yield numbers[start : start + block]
