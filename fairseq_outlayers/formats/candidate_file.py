"""The file of candidate translations that ``data_prep/build_candidates.py`` writes."""

import os
import zipfile
import zlib
from typing import Any, NamedTuple, Optional

import numpy as np
import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import fingerprint

FORMAT = 1
MOST_EXPANDED = 100  # times its size in the file; real lists shrink to a third at most
ARRAYS = {"per_word", "source_fingerprint", "target_fingerprint", "offsets", "targets", "blocked"}
NUMBERS = ("per_word", "source_fingerprint", "target_fingerprint")
# What NumPy and zipfile raise, according to which byte of an archive is wrong.
DAMAGES = (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)


class Translations(NamedTuple):
    """The best translations of every source word, in rows one after the other."""

    offsets: Tensor  # (V_source + 1,): row s is targets[offsets[s] : offsets[s + 1]]
    targets: Tensor  # class ids, the most probable translation of a word first
    blocked: Tensor  # class ids that are never to be produced
    per_word: int  # the longest row that the file was made for

    @classmethod
    def load(cls, path: str, source_dictionary: Any, target_dictionary: Any) -> "Translations":
        """Read a file and make sure that it speaks of these dictionaries.

        Raises:
            UserError: if it cannot be read, or was made for other dictionaries.
        """
        arrays = _read(path)
        sides = (("source", source_dictionary), ("target", target_dictionary))
        for side, dictionary in sides:
            made_for, given = int(arrays[f"{side}_fingerprint"]), fingerprint(dictionary)
            if made_for != given:
                raise UserError(
                    f"{path} was made for another {side} dictionary (of {made_for >> 32} symbols; "
                    f"the one of the data has {len(dictionary)}): run data_prep/"
                    f"build_candidates.py with --{side}-dictionary from the data folder"
                )
        wrong = _wrong(arrays, len(source_dictionary), len(target_dictionary))
        if wrong is not None:
            raise UserError(
                f"--candidates {path}: {wrong}; make it with data_prep/build_candidates.py"
            )
        return cls(
            torch.from_numpy(arrays["offsets"]).long(),
            torch.from_numpy(arrays["targets"]).long(),
            torch.from_numpy(arrays["blocked"]).long(),
            int(arrays["per_word"]),
        )

    @classmethod
    def none(cls, num_source_words: int) -> "Translations":
        """No translations of any word, and nothing blocked."""
        empty = torch.zeros(0, dtype=torch.long)
        return cls(torch.zeros(num_source_words + 1, dtype=torch.long), empty, empty, 0)

    def of(self, source_tokens: Tensor, per_word: int, default: int) -> Tensor:
        """The first ``per_word`` translations of every token.

        Args:
            source_tokens: ``(B, S)``; ids beyond the dictionary have no translations.
            default: stands where a word has fewer translations.
        Returns:
            Class ids, ``(B, S, per_word)``.
        """
        tokens = source_tokens.clamp(max=len(self.offsets) - 2)
        first, end = self.offsets[tokens], self.offsets[tokens + 1]
        end = torch.where(tokens == source_tokens, end, first)
        ranks = torch.arange(per_word, device=tokens.device)
        places = first.unsqueeze(-1) + ranks
        exists = places < end.unsqueeze(-1)
        if not len(self.targets):
            return torch.full_like(places, default)
        return self.targets[places.clamp(max=len(self.targets) - 1)].masked_fill(~exists, default)

    def to(self, device: torch.device) -> "Translations":
        """The same on another device."""
        offsets, targets, blocked, per_word = self
        return Translations(offsets.to(device), targets.to(device), blocked.to(device), per_word)


def _wrong(arrays: Any, num_source: int, num_target: int) -> Optional[str]:
    """What contradicts the format in arrays whose checksums are right, or None."""
    offsets, targets, blocked = (arrays[name] for name in ("offsets", "targets", "blocked"))
    for name, array in (("offsets", offsets), ("targets", targets), ("blocked", blocked)):
        if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
            return f"{name} are {array.dtype} of {array.ndim} dimensions, not a list of integers"
    if len(offsets) != num_source + 1:
        return f"{len(offsets)} offsets for {num_source} source words"
    steps = np.diff(offsets.astype(np.int64))
    if offsets[0] != 0 or offsets[-1] != len(targets) or (steps < 0).any():
        return f"the offsets do not rise from 0 to the {len(targets)} translations"
    per_word = int(arrays["per_word"])
    if steps.max(initial=0) > max(per_word, 0) or per_word < 0:
        return f"a word has {steps.max(initial=0)} translations, and at most {per_word} are said"
    for name, ids in (("targets", targets), ("blocked", blocked)):
        if len(ids) and not 0 <= ids.min() <= ids.max() < num_target:
            return f"{name} from {ids.min()} to {ids.max()} for {num_target} target words"
    return None


def _read(path: str) -> Any:
    """The arrays, each checked by the checksum that the archive has of it."""
    try:
        refuse_bomb(path)
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise ValueError("an array, and no archive of arrays")
        with file:
            if not set(file.files) >= ARRAYS or int(file["format"]) != FORMAT:
                raise ValueError("not of this format")
            arrays = {name: file[name] for name in ARRAYS}
        if any(arrays[name].ndim or arrays[name].dtype.kind not in "iu" for name in NUMBERS):
            raise ValueError("not of this format")
        return arrays
    except OSError as error:
        raise UserError(f"--candidates {path}: {error.strerror or error}") from error
    except (*DAMAGES, TypeError, OverflowError, MemoryError) as error:
        raise UserError(
            f"--candidates {path}: not a candidate file, or a damaged one: make it with "
            "data_prep/build_candidates.py"
        ) from error


def refuse_bomb(path: str) -> None:
    """Refuse an archive that a few bytes blow up to more than memory holds.

    Raises:
        ValueError: if a member would be more than ``MOST_EXPANDED`` times as large as the file.
    """
    if not zipfile.is_zipfile(path):
        return
    size = max(os.path.getsize(path), 1 << 20)
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_EXPANDED * size:
            raise ValueError("expands to more than its size allows")
