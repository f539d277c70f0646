"""Convert output layers with an affine map of contexts to one class matrix and bias.

``<A h + c, e_y> + b_y = <h, A^T e_y> + (<c, e_y> + b_y)``. Nonlinear maps of contexts (``joint``,
``context_structure``) cannot be converted.
"""

from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError

PROBES = 64
SCALES = (0.1, 1.0, 10.0)  # of the probes: small arguments of tanh are nearly linear


class ClassMatrix(NamedTuple):
    """``logits = weight @ hidden + bias``."""

    weight: Tensor  # (V, H)
    bias: Optional[Tensor]  # (V,)


@torch.no_grad()
def bake(layer: Any, hidden_size: int) -> ClassMatrix:
    """The class matrix of an output layer; products are computed in float64.

    Args:
        layer: an :class:`OutputLayer`; not changed.
        hidden_size: ``H``.
    Raises:
        UserError: if the layer's map of contexts is nonlinear.
    """
    example, bias = layer.class_embeddings(), layer.class_bias()
    embeddings, bias = example.double(), None if bias is None else bias.double()
    constant = _project(layer, torch.zeros(1, hidden_size), example)[0]
    matrix = _project(layer, torch.eye(hidden_size), example) - constant  # (H, D)
    for scale in SCALES:
        hidden = scale * torch.randn(
            PROBES, hidden_size, generator=torch.Generator().manual_seed(1)
        )
        found, expected = _project(layer, hidden, example), hidden.double() @ matrix + constant
        if (found - expected).abs().max() > 1e-4 * (1 + expected.abs().max()):
            raise UserError(
                f"{type(layer).__name__} maps contexts nonlinearly (like joint and "
                "context_structure), which a class matrix cannot express: to export, train with a "
                "layer that maps them linearly, such as linear, tied or bilinear (see "
                "docs/choosing_a_layer.md)"
            )
    weight = embeddings @ matrix.t()
    shift = embeddings @ constant
    if bias is not None:
        shift = shift + bias
    elif not shift.any():
        return ClassMatrix(weight, None)
    return ClassMatrix(weight, shift)


def _project(layer: Any, hidden: Tensor, example: Tensor) -> Tensor:
    return layer.project(hidden.to(example)).cpu().double()


@torch.no_grad()
def absorb_bias(
    classes: ClassMatrix, gain: Tensor, offset: Tensor, projection: Optional[Tensor] = None
) -> Any:
    """Absorb class biases into the class matrix and the offset of the layer norm below it.

    fairseq's Transformers have no class biases. But a normalized vector ``n`` sums to zero, so
    after ``h = gain * n + offset`` the functional ``u = 1 / gain`` is constant, ``u h =
    sum(offset / gain) = c``, and ``b (u h) / c = b`` can be added to the matrix. The offset is
    first moved by ``+-gain``, which makes ``|c|`` at least the size of ``h``.

    Args:
        classes: with ``weight`` ``(V, H)``.
        gain, offset: of the layer norm, ``(h,)``.
        projection: ``P``, ``(H, h)``, between the layer norm and the classes, or None.
    Returns:
        The matrix, ``(V, H)``, and the offset, ``(h,)``.
    Raises:
        UserError: if no such functional exists.
    """
    gain, offset = gain.double(), offset.double()
    if classes.bias is None:
        return classes.weight, offset
    if gain.abs().min() < 1e-3 * gain.abs().max():
        raise UserError(
            "the last layer norm ignores a dimension (its gain is 0), so the class biases cannot "
            "be exported to fairseq's Transformer, which has none: train with --no-class-bias"
        )
    functional = constant_on = 1 / gain
    if projection is not None:
        matrix = projection.double()
        functional = torch.linalg.lstsq(matrix.t(), constant_on[:, None]).solution[:, 0]
        if not torch.allclose(matrix.t() @ functional, constant_on, rtol=1e-6):
            raise UserError(
                "the output layer has fewer dimensions than the last layer norm, so the class "
                "biases cannot be exported to fairseq's Transformer, which has none: train with "
                "--no-class-bias"
            )
    centre = (offset / gain).sum()
    move = gain if centre >= 0 else -gain
    moved = move if projection is None else projection.double() @ move
    constant = centre + (move / gain).sum()
    factor = (classes.bias - classes.weight @ moved) / constant
    return classes.weight + factor[:, None] * functional, offset + move
