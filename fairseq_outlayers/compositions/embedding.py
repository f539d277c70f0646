"""Word vectors composed from subword units, and input embeddings made of them."""

from functools import partial
from typing import Any, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.compositions.base import Composition, Parts
from fairseq_outlayers.compositions.units import WordUnits
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.cached_at_inference import CachedAtInference
from fairseq_outlayers.tables.stored_version import register_version

WORDS_AT_A_TIME = 4096  # words per chunk at inference, which saves no activations


class ComposedWords(nn.Module):
    """Composes the vectors of a dictionary's words; without parameters.

    A checkpoint stores a checksum of the units, not the units, which are in the table beside the
    dictionary. Loading raises :class:`UserError` if it was trained with other units.

    Args:
        composition: computes vectors from units.
        units: of the dictionary's words.
    """

    ids: Tensor

    def __init__(self, composition: Composition, units: WordUnits):
        super().__init__()
        self.composition = composition
        self.units = units
        self._prepared: Optional[Tuple[Tensor, Any]] = None
        self.register_buffer("ids", units.ids, persistent=False)
        version = torch.tensor(units.fingerprint())
        register_version(self, "units_version", version, partial(_refuse, composition.kind))

    def forward(self, parts: Parts, words: Optional[Tensor] = None) -> Tensor:
        """Vectors of ``words``, ``(*words.shape, D)``, or of all, ``(V, D)``.

        Args:
            parts: the layers by name, of the input or of the output.
            words: ids, of any shape; None for all.
        """
        ids = self.ids if words is None else self.ids.index_select(0, words.flatten())
        if not torch.is_grad_enabled():
            chunks = ids.split(WORDS_AT_A_TIME)
            vectors = torch.cat([self.compose(parts, chunk) for chunk in chunks])
        elif words is None:
            vectors = self.composition.compose(parts, self._all_prepared())
        else:
            vectors = self.compose(parts, ids)
        return vectors if words is None else vectors.view(*words.shape, vectors.size(1))

    def compose(self, parts: Parts, ids: Tensor) -> Tensor:
        """Vectors, ``(N, D)``, of words given by their unit ids, ``(N, L)``."""
        return self.composition.compose(parts, self.composition.prepare(ids))

    def _all_prepared(self) -> Any:
        # Moving to another device replaces self.ids.
        if self._prepared is None or self._prepared[0] is not self.ids:
            self._prepared = (self.ids, self.composition.prepare_all(self.ids))
        return self._prepared[1]


def _refuse(kind: str, found: Tensor, own: Tensor) -> None:
    raise UserError(
        f"the checkpoint was trained with other {kind}: copy the {kind}.*.txt of the training to "
        "the data folder, beside the dictionary"
    )


class ComposedEmbedding(CachedAtInference):
    """Replaces a table of word embeddings by ``HW2(HW1(x))``, with ``x`` from a word's units.

    In training every distinct word of a batch is composed once. At inference the vectors of all
    words are cached.

    Args:
        words: composes the vectors of the dictionary's words.
    """

    words: ComposedWords

    def __init__(self, words: ComposedWords):
        super().__init__()
        composition = words.composition
        self.words = words
        self.parts = nn.ModuleDict(composition.build_parts(composition.all_parts()))
        self.embedding_dim = composition.output_size

    def forward(self, words: Tensor) -> Tensor:
        """``(*words.shape) -> (*words.shape, D)``."""
        if self.computes_anew():
            distinct, positions = words.unique(return_inverse=True)
            return F.embedding(positions, self.words(self.parts, distinct))
        return F.embedding(words, self.all_words())

    def all_words(self) -> Tensor:
        """Vectors of the whole dictionary, ``(V, D)``."""
        return self.cached(lambda: self.words(self.parts), self.parameters())
