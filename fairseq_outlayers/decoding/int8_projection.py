"""Scores of all classes by products of 8-bit integers, for decoding on a CPU."""

import warnings
from contextlib import AbstractContextManager
from typing import Any, Dict, Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.decoding.restriction import parts_of, projection_of, replaced_projection
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.cached_at_inference import Versions, parameter_versions


class Int8Projection(nn.Module):
    """Approximate scores of all classes, ``(..., H) -> (..., V)``; replaces an output layer.

    Class embeddings are quantized to 8 bits once, with one scale per class. States are quantized at
    every step, with one scale per row, so that scores do not depend on the rest of the batch.
    States have 7 bits: with 8, sums of products overflow 16 bits on CPUs without VNNI instructions,
    and scores would depend on the machine. The products are exact.

    Args:
        layer: an output layer of ours, or the linear projection of a fairseq model.
    """

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.project, embeddings, bias = parts_of(layer)
        if embeddings.device.type != "cpu":
            raise UserError(
                "--int8-projection is for decoding on a CPU: add --cpu, or leave it out"
            )
        embeddings = embeddings.detach().float()
        self.bias = None if bias is None else bias.detach().float()
        # The kernel takes one range over the batch: two more columns fix it to [-1, 1].
        embeddings = nn.functional.pad(embeddings, (0, 2))
        scales = embeddings.abs().amax(1).div_(127).clamp_(min=torch.finfo(torch.float32).tiny)
        no_shift = torch.zeros_like(scales, dtype=torch.long)
        with warnings.catch_warnings():  # PyTorch 2.13 deprecates this in favor of torchao
            warnings.simplefilter("ignore")
            rounded = torch.quantize_per_channel(embeddings, scales, no_shift, 0, torch.qint8)
        self.weight = torch.ops.quantized.linear_prepack(rounded, None)

    def forward(self, hidden: Tensor) -> Tensor:
        context = self.project(hidden).float()
        sizes = context.abs().amax(-1, keepdim=True).clamp_(min=torch.finfo(torch.float32).tiny)
        ends = context.new_tensor([-1.0, 1.0]).expand(*context.shape[:-1], 2)
        states = torch.cat([context / sizes, ends], dim=-1)
        scores = torch.ops.quantized.linear_dynamic(states, self.weight, reduce_range=True)
        if self.bias is None:
            return scores.mul_(sizes)
        return torch.addcmul(self.bias, scores, sizes, out=scores)


class Int8Projections:
    """Quantized projections of models, renewed when parameters change.

    Most of fairseq's optimizers change them through ``.data``, which PyTorch does not count: call
    :meth:`clear` after training.
    """

    def __init__(self) -> None:
        self.rounded: Dict[int, Tuple[Versions, Int8Projection]] = {}

    def clear(self) -> None:
        """Discard all projections."""
        self.rounded.clear()

    def of(self, model: Any) -> AbstractContextManager[Any]:
        """A context in which a model scores all classes approximately.

        Raises:
            UserError: if the output layer cannot be replaced, or is not on a CPU.
        """
        versions = parameter_versions(model.parameters())
        known, projection = self.rounded.get(id(model), (None, None))
        if projection is None or known != versions:
            projection = Int8Projection(projection_of(model))
            self.rounded[id(model)] = versions, projection
        return replaced_projection(model, projection)
