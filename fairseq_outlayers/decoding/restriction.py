"""An output layer restricted to candidates, with rows gathered once per search."""

from contextlib import AbstractContextManager, contextmanager
from typing import Any, Callable, Iterator, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.decoding.candidates import BatchCandidates
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.tables.rows import lookup


def parts_of(
    layer: nn.Module, ids: Optional[Tensor] = None
) -> Tuple[Callable[[Tensor], Tensor], Tensor, Optional[Tensor]]:
    """What scores classes: the context encoder, class embeddings, and biases if there are any.

    Args:
        layer: an output layer of ours, or the linear projection of a fairseq model.
        ids: of the classes, or None for all.
    """
    if isinstance(layer, OutputLayer):
        return layer.project, layer.class_embeddings(ids), layer.class_bias(ids)
    assert isinstance(layer, nn.Linear)
    if ids is None:
        return nn.Identity(), layer.weight, layer.bias
    bias = None if layer.bias is None else lookup(layer.bias, ids)
    return nn.Identity(), lookup(layer.weight, ids), bias


class RestrictedProjection(nn.Module):
    """Scores of the candidates, ``(R, T, H) -> (R, T, C)``; replaces an output layer.

    Args:
        layer: an output layer of ours, or the linear projection of a fairseq model.
        candidates: of the batch.
    """

    def __init__(self, layer: nn.Module, candidates: BatchCandidates):
        super().__init__()
        self.excluded: Optional[Tensor] = None  # (R, C), set when the rows of the search change
        ids = candidates.ids
        self.project, self.embeddings, bias = parts_of(layer, ids)
        if len(candidates.closed):
            bias = self.embeddings.new_zeros(len(ids)) if bias is None else bias.clone()
            bias[candidates.closed] = -torch.inf
        self.bias = bias

    def forward(self, hidden: Tensor) -> Tensor:
        scores = F.linear(self.project(hidden), self.embeddings, self.bias)
        if self.excluded is not None:
            scores = scores.masked_fill_(self.excluded.unsqueeze(1), -torch.inf)
        return scores


@contextmanager
def replaced_projection(model: Any, projection: nn.Module) -> Iterator[Any]:
    """A context in which another module scores classes in a model's decoder."""
    decoder = model.decoder if hasattr(model, "decoder") else model
    name = _projection_name(decoder)
    layer = getattr(decoder, name)
    setattr(decoder, name, projection)
    try:
        yield projection
    finally:
        setattr(decoder, name, layer)


def projection_of(model: Any) -> nn.Module:
    """The module that scores classes in a model's decoder.

    Raises:
        UserError: if it cannot be replaced.
    """
    decoder = model.decoder if hasattr(model, "decoder") else model
    return getattr(decoder, _projection_name(decoder))


def restricted(model: Any, candidates: BatchCandidates) -> AbstractContextManager[Any]:
    """A context in which a model scores the candidates only.

    Raises:
        UserError: if the model's output layer cannot be restricted.
    """
    return replaced_projection(model, RestrictedProjection(projection_of(model), candidates))


def _projection_name(decoder: Any) -> str:
    """The name of the decoder's attribute that scores classes."""
    if getattr(decoder, "adaptive_softmax", None) is None:
        for name in ("output_projection", "fc_out"):
            if isinstance(getattr(decoder, name, None), (OutputLayer, nn.Linear)):
                return name
    raise UserError(
        f"the output layer of {type(decoder).__name__} cannot be replaced for decoding: use an "
        "architecture that takes --output-layer, or leave out --candidates, --candidate-frequent "
        "and --int8-projection"
    )
