"""The file of candidate translations that ``data_prep/build_candidates.py`` writes."""

import zipfile
import zlib
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import fingerprint

FORMAT = 1
ARRAYS = {"per_word", "source_fingerprint", "target_fingerprint", "offsets", "targets", "blocked"}
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


def _read(path: str) -> Any:
    """The arrays, each checked by the checksum that the archive has of it."""
    try:
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise ValueError("an array, and no archive of arrays")
        with file:
            if not set(file.files) >= ARRAYS or int(file["format"]) != FORMAT:
                raise ValueError("not of this format")
            return {name: file[name] for name in ARRAYS}
    except OSError as error:
        raise UserError(f"--candidates {path}: {error.strerror or error}") from error
    except DAMAGES as error:
        raise UserError(
            f"--candidates {path}: not a candidate file, or a damaged one: make it with "
            "data_prep/build_candidates.py"
        ) from error
