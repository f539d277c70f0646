"""Computed class embeddings, cached at inference."""

from abc import abstractmethod
from typing import Optional

from torch import Tensor

from fairseq_outlayers.layers.cached_at_inference import CachedAtInference
from fairseq_outlayers.output_layers.base import OutputLayer


class ComputedOutputLayer(CachedAtInference, OutputLayer):
    """An output layer whose class embeddings are a function of parameters.

    In training they are computed once per batch; at inference those of all classes are cached
    (``layers/cached_at_inference.py``).
    """

    @abstractmethod
    def encode_classes(self, ids: Optional[Tensor]) -> Tensor:
        """Compute ``class_embeddings``."""

    def class_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        if ids is not None:
            return self.encode_classes(ids)
        return self.cached(lambda: self.encode_classes(None))
