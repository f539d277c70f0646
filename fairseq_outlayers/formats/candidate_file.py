"""The file of candidate translations, which ``data_prep/build_candidates.py`` writes."""

import io
import os
import zipfile
import zlib
from typing import Any, NamedTuple, Optional

import numpy as np

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import fingerprint, number_of_symbols
from fairseq_outlayers.formats.output_file import OutputFile

FORMAT = 1
MOST_EXPANDED = 100  # maximal compression ratio; that of real lists is at most 3
ARRAYS = {"per_word", "source_fingerprint", "target_fingerprint", "offsets", "targets", "blocked"}
NUMBERS = ("per_word", "source_fingerprint", "target_fingerprint")
# Exceptions of NumPy and zipfile for damaged archives.
DAMAGES = (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)


class CandidateFile(NamedTuple):
    """The best translations of every source word, in concatenated rows."""

    offsets: np.ndarray  # (V_source + 1,): row s is targets[offsets[s] : offsets[s + 1]]
    targets: np.ndarray  # class ids, most probable translation of a word first
    blocked: np.ndarray  # class ids that are never produced
    per_word: int  # the maximal length of a row

    @classmethod
    def read(cls, path: str, source_dictionary: Any, target_dictionary: Any) -> "CandidateFile":
        """Read a file and check that it belongs to these dictionaries.

        Raises:
            UserError: if it cannot be read, or was made for other dictionaries.
        """
        arrays = _read(path)
        sides = (("source", source_dictionary), ("target", target_dictionary))
        for side, dictionary in sides:
            made_for, given = int(arrays[f"{side}_fingerprint"]), fingerprint(dictionary)
            if made_for != given:
                raise UserError(
                    f"{path} was made for another {side} dictionary (of "
                    f"{number_of_symbols(made_for)} symbols; the one of the data has "
                    f"{len(dictionary)}): run data_prep/"
                    f"build_candidates.py with --{side}-dictionary from the data folder"
                )
        wrong = _wrong(arrays, len(source_dictionary), len(target_dictionary))
        if wrong is not None:
            raise UserError(
                f"--candidates {path}: {wrong}; make it with data_prep/build_candidates.py"
            )
        # As written: PyTorch reads no integers of another byte order.
        targets, blocked = (arrays[name].astype(np.int32) for name in ("targets", "blocked"))
        return cls(arrays["offsets"].astype(np.int64), targets, blocked, int(arrays["per_word"]))

    def write(self, output: OutputFile, source: Any, target: Any) -> None:
        """Write the lists of two dictionaries."""
        file = io.BytesIO()
        np.savez_compressed(
            file,
            format=FORMAT,
            per_word=self.per_word,
            source_fingerprint=fingerprint(source),
            target_fingerprint=fingerprint(target),
            offsets=self.offsets.astype(np.int64),
            targets=self.targets.astype(np.int32),
            blocked=self.blocked.astype(np.int32),
        )
        output.write(file.getvalue())


def _wrong(arrays: Any, num_source: int, num_target: int) -> Optional[str]:
    """Describe how arrays violate the format; None if they do not."""
    offsets, targets, blocked = (arrays[name] for name in ("offsets", "targets", "blocked"))
    for name, array in (("offsets", offsets), ("targets", targets), ("blocked", blocked)):
        if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
            return f"{name} are {array.dtype} of {array.ndim} dimensions, not a vector of integers"
    if len(offsets) != num_source + 1:
        return f"{len(offsets)} offsets for {num_source} source words"
    # Of any integer type: differences can overflow, and comparisons cannot.
    ordered = bool((offsets[:-1] <= offsets[1:]).all())
    if not ordered or int(offsets[0]) != 0 or int(offsets[-1]) != len(targets):
        return f"the offsets do not increase from 0 to the number of translations, {len(targets)}"
    steps = np.diff(offsets.astype(np.int64))
    per_word = int(arrays["per_word"])
    if steps.max(initial=0) > max(per_word, 0) or per_word < 0:
        return f"a word has {steps.max(initial=0)} translations, but at most {per_word} are allowed"
    for name, ids in (("targets", targets), ("blocked", blocked)):
        if len(ids) and not 0 <= ids.min() <= ids.max() < num_target:
            return f"{name} from {ids.min()} to {ids.max()} for {num_target} target words"
    return None


def _read(path: str) -> Any:
    """Read the arrays; the archive checks their checksums."""
    try:
        check_expansion_ratio(path)
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise ValueError("an array, not an archive")
        with file:
            if not set(file.files) >= ARRAYS or int(file["format"]) != FORMAT:
                raise ValueError("another format")
            arrays = {name: file[name] for name in ARRAYS}
        if any(arrays[name].ndim or arrays[name].dtype.kind not in "iu" for name in NUMBERS):
            raise ValueError("another format")
        return arrays
    except OSError as error:
        raise UserError(f"--candidates {path}: {error.strerror or error}") from error
    except (*DAMAGES, TypeError, OverflowError, MemoryError) as error:
        raise UserError(
            f"--candidates {path}: not a candidate file, or damaged: make it with "
            "data_prep/build_candidates.py"
        ) from error


def check_expansion_ratio(path: str) -> None:
    """Refuse a decompression bomb.

    Raises:
        ValueError: if the members exceed ``MOST_EXPANDED`` times the size of the file.
    """
    if not zipfile.is_zipfile(path):
        return
    size = max(os.path.getsize(path), 1 << 20)
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_EXPANDED * size:
            raise ValueError("a decompression bomb")
