"""The candidate translations of source words, on the device that looks them up."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairseq_outlayers.formats.candidate_file import CandidateFile


class Translations(NamedTuple):
    """The best translations of every source word, in concatenated rows."""

    offsets: Tensor  # (V_source + 1,): row s is targets[offsets[s] : offsets[s + 1]]
    targets: Tensor  # class ids, most probable translation of a word first
    blocked: Tensor  # class ids that are never produced
    per_word: int  # the maximal length of a row

    @classmethod
    def load(cls, path: str, source_dictionary: Any, target_dictionary: Any) -> "Translations":
        """Read a file of these dictionaries; raises UserError as :meth:`CandidateFile.read`."""
        file = CandidateFile.read(path, source_dictionary, target_dictionary)
        return cls(
            torch.from_numpy(file.offsets).long(),
            torch.from_numpy(file.targets).long(),
            torch.from_numpy(file.blocked).long(),
            file.per_word,
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
            per_word: ``K'``.
            default: fills up rows of words with fewer translations.
        Returns:
            Class ids, ``(B, S, per_word)``.
        """
        tokens = source_tokens.clamp(max=len(self.offsets) - 2)
        first, end = self.offsets[tokens], self.offsets[tokens + 1]
        end = torch.where(tokens == source_tokens, end, first)
        ranks = torch.arange(per_word, device=tokens.device)
        index = first.unsqueeze(-1) + ranks
        exists = index < end.unsqueeze(-1)
        if not len(self.targets):
            return torch.full_like(index, default)
        return self.targets[index.clamp(max=len(self.targets) - 1)].masked_fill(~exists, default)

    def to(self, device: torch.device) -> "Translations":
        """The same on another device."""
        offsets, targets, blocked, per_word = self
        return Translations(offsets.to(device), targets.to(device), blocked.to(device), per_word)
