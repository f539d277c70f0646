"""Open and check a table of external vectors.

The table is a NumPy file, (rows, dimensions); row i belongs to symbol i of the dictionary, starting
with fairseq's four specials. The sidecar PREFIX.npy.json holds sizes, CRC-32 of the whole file and
of some blocks, and number and CRC-32 of the dictionary's symbols, joined by line feeds.
``external_table_writer.py`` writes both.
"""

import json
import os
import sys
import zlib
from pathlib import Path
from typing import Any, Dict, Tuple

import numpy as np

from fairseq_outlayers.errors import UserError, as_flag
from fairseq_outlayers.formats.dictionary import checksum

MAKER = "data_prep/extract_embeddings.py"
READ_AT_ONCE = 1 << 22  # bytes
DTYPES = (np.float16, np.float32, np.float64)  # of this machine's byte order, as PyTorch needs them


def open_table(
    path: Path, dictionary: Any, checks_all: bool, option: str
) -> Tuple[np.ndarray, int]:
    """The rows, memory-mapped, and the CRC-32 of the file.

    Args:
        path: of the table, beside its sidecar.
        dictionary: whose symbols the rows belong to.
        checks_all: verify the checksum of the whole file, not only of some blocks.
        option: that names the file, for error messages.
    Raises:
        UserError: if the file is missing, damaged, or belongs to another dictionary.
    """
    facts = _read_facts(path, option)
    _check_bytes(path, facts, checks_all)
    _check_dictionary(path, facts, dictionary)
    rows = _open(path)
    if rows.shape != (facts["rows"], facts["dimensions"]):
        raise UserError(
            f"{path}: has shape {rows.shape}, but {path}.json says "
            f"{(facts['rows'], facts['dimensions'])}"
        )
    return rows, facts["crc32"]


def override_hint(option: str) -> str:
    """The options of fairseq's commands that set the path of a model's table."""
    in_training = as_flag(option, "FILE.npy")
    return f"{in_training} (fairseq-train) or --model-overrides \"{{'{option}': 'FILE.npy'}}\""


def file_checksum(path: Path) -> int:
    """CRC-32 of a whole file."""
    whole = 0
    with open(path, "rb") as file:
        while data := file.read(READ_AT_ONCE):
            whole = zlib.crc32(data, whole)
    return whole


def _read_facts(path: Path, option: str) -> Dict[str, Any]:
    """The sidecar."""
    sidecar = Path(f"{path}.json")
    for needed in (path, sidecar):
        if not os.path.isfile(needed):
            raise UserError(
                f"{needed}: no such file; {MAKER} writes PREFIX.npy and PREFIX.npy.json. If "
                f"it has moved, pass {override_hint(option)}; for a trained model it is also "
                "looked for beside the checkpoint and in its data folder"
            )
    try:
        facts = json.loads(sidecar.read_text(encoding="utf-8"))
        _check_facts(facts)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{sidecar}: damaged ({error}); make it again with {MAKER}") from error
    return facts


def _check_bytes(path: Path, facts: Dict[str, Any], checks_all: bool) -> None:
    size = path.stat().st_size
    if size != facts["bytes"]:
        raise UserError(
            f"{path}: {size:,} bytes, but {facts['bytes']:,} were written: truncated or another "
            f"file; make it again with {MAKER}"
        )
    with open(path, "rb") as file:
        for start, expected in facts["blocks"].items():
            file.seek(int(start))
            if zlib.crc32(file.read(facts["block_bytes"])) != expected:
                raise _damaged(path, f"after byte {int(start):,}")
    if checks_all and file_checksum(path) != facts["crc32"]:
        raise _damaged(path, "somewhere")


def _damaged(path: Path, where: str) -> UserError:
    return UserError(
        f"{path}: differs {where} from what was written ({path}.json has the "
        f"checksums); make it again with {MAKER}"
    )


def _check_dictionary(path: Path, facts: Dict[str, Any], dictionary: Any) -> None:
    symbols, expected = facts["dictionary"]["symbols"], facts["dictionary"]["crc32"]
    if symbols != len(dictionary):
        difference = f"{symbols:,} rows, {len(dictionary):,} symbols"
    elif expected != checksum(dictionary.symbols):
        difference = f"both have {symbols:,} symbols, but not the same ones in the same order"
    else:
        return
    raise UserError(
        f"{path}: belongs to another dictionary ({difference}); binarize with the "
        "PREFIX.dict.txt of the table (fairseq-preprocess --srcdict or --tgtdict, "
        f"--padding-factor 1), or make a table for this data with {MAKER}"
    )


def _check_facts(facts: Any) -> None:
    """Check the sidecar's fields and types; raises ``ValueError``, ``KeyError`` and the like."""
    numbers = {name: facts[name] for name in ("rows", "dimensions", "bytes", "crc32")}
    numbers |= {f"dictionary's {name}": facts["dictionary"][name] for name in ("symbols", "crc32")}
    numbers["block_bytes"] = facts["block_bytes"]
    for start, expected in facts["blocks"].items():
        numbers[f"block at {int(start)}"] = expected
    for name, number in numbers.items():
        if type(number) is not int or number < 0:
            raise ValueError(f"{name} is {number!r}, not an integer of at least 0")
    if facts["rows"] != facts["dictionary"]["symbols"]:
        raise ValueError(
            f"{facts['rows']:,} rows for a dictionary of {facts['dictionary']['symbols']:,} symbols"
        )
    if not facts["blocks"] or not facts["block_bytes"]:
        raise ValueError("no checksums of blocks")
    if facts["block_bytes"] > READ_AT_ONCE:
        raise ValueError(f"block_bytes is {facts['block_bytes']:,}, at most {READ_AT_ONCE:,}")
    for start in map(int, facts["blocks"]):
        if not 0 <= start < facts["bytes"]:
            raise ValueError(f"a block at {start:,} in a table of {facts['bytes']:,} bytes")


def _open(path: Path) -> np.ndarray:
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(rows, np.ndarray) or rows.dtype not in DTYPES:
            raise ValueError(
                f"contains {getattr(rows, 'dtype', 'no array')}, expected float16, float32 or "
                f"float64 in {sys.byteorder}-endian order"
            )
    except (ValueError, EOFError, OverflowError, TypeError, SyntaxError) as error:
        raise UserError(
            f"{path}: not a NumPy file of vectors ({error}); make it with {MAKER}"
        ) from error
    return rows
