"""Computed class embeddings, cached at inference."""

from abc import abstractmethod
from typing import Optional

from torch import Tensor

from fairseq_outlayers.layers.cached_at_inference import CachedAtInference
from fairseq_outlayers.output_layers.base import OutputLayer
from fairseq_outlayers.tables.rows import lookup

MOST_BYTES = 2**28  # of a table that is computed although only candidates are asked for


class ComputedOutputLayer(CachedAtInference, OutputLayer):
    """An output layer whose class embeddings are a function of parameters.

    In training they are computed once per batch; at inference those of all classes are cached
    (``layers/cached_at_inference.py``), also if only some are asked for, unless the table would be
    larger than ``MOST_BYTES``: candidate lists of a test set request most classes several times.
    """

    @property
    @abstractmethod
    def class_size(self) -> int:
        """``D``, the size of class embeddings."""

    @abstractmethod
    def encode_classes(self, ids: Optional[Tensor]) -> Tensor:
        """Compute ``class_embeddings``."""

    def class_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        if ids is None:
            return self.cached(lambda: self.encode_classes(None), self.read_parameters())
        # By sizes alone: scores must not depend on what was asked for before, not even by rounding.
        if self.computes_anew() or not self._table_is_small():
            return self.encode_classes(ids)
        return lookup(self.class_embeddings(), ids)

    def _table_is_small(self) -> bool:
        if self.block_size is not None or self.num_in_use < self.num_classes:
            return False  # parts of the table are elsewhere
        bytes_each = next(self.read_parameters()).element_size()  # autocast needs no more
        return self.num_classes * self.class_size * bytes_each <= MOST_BYTES
