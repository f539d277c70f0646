"""Learned embeddings, the default."""

from dataclasses import dataclass
from typing import Any, Optional

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import is_padding_word
from fairseq_outlayers.layers.initialization import Initializer
from fairseq_outlayers.ranges import ranged
from fairseq_outlayers.source_embeddings.base import SourceEmbedding
from fairseq_outlayers.tables.table import embed


@dataclass
class InternalConfig(SourceEmbedding.Config):
    internal_vocabulary: int = ranged(
        0,
        "number of symbols at the start of the source dictionary with internal embeddings; all "
        "others have that of <unk>; 0: the symbols with a count of at least 1",
        at_least=0,
    )


class InternalSourceEmbedding(nn.Embedding, SourceEmbedding):
    """A learned vector for each of the first ``N`` symbols; all others share that of ``<unk>``.

    Args:
        num_embeddings: ``N``.
        embedding_dim: ``d``.
        padding_idx: id of padding.
        unknown_idx: id of ``<unk>``.
    """

    Config = InternalConfig

    weight: nn.Parameter

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int, unknown_idx: int):
        super().__init__(num_embeddings, embedding_dim, padding_idx)
        self.unknown_idx = unknown_idx

    @classmethod
    def build(
        cls, config: Any, dictionary: Any, embed_dim: int, bidirectional: bool
    ) -> "InternalSourceEmbedding":
        size = internal_vocabulary_size(config, dictionary)
        return cls(size, embed_dim, dictionary.pad(), dictionary.unk())

    def reset_parameters(self, initializer: Optional[Initializer] = None) -> None:
        if initializer is None:  # called by nn.Embedding.__init__
            nn.Embedding.reset_parameters(self)
            return
        initializer.fill(self, "weight", self.weight)
        self.zero_padding()

    def forward(self, ids: Tensor, direction: int = 0) -> Tensor:
        known = ids.masked_fill(ids >= self.num_embeddings, self.unknown_idx)
        return embed(self, known)


def internal_vocabulary_size(config: Any, dictionary: Any) -> int:
    """Number of symbols with internal embeddings, including the specials.

    ``extract_embeddings.py`` appends words that only the external table knows, with count 0.
    Padding words of ``fairseq-preprocess --padding-factor`` also have count 0, but rows in fairseq.

    Raises:
        UserError: if ``--internal-vocabulary`` leaves no word or exceeds the dictionary.
    """
    size = config.internal_vocabulary
    if size == 0:
        for last in range(len(dictionary) - 1, dictionary.nspecial - 1, -1):
            if dictionary.count[last] or is_padding_word(dictionary.symbols[last]):
                return last + 1
        return len(dictionary)
    if not dictionary.nspecial < size <= len(dictionary):
        raise UserError(
            f"--internal-vocabulary {size}: must be more than the {dictionary.nspecial} special "
            f"symbols and at most the {len(dictionary):,} symbols of the source dictionary"
        )
    return size
