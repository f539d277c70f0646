"""Shared code of the structure-aware output layers of Pappas et al. (2018)."""

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Optional

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.activations import identity
from fairseq_outlayers.output_layers.base import EmbeddingOutputLayer
from fairseq_outlayers.registry import lookup

ACTIVATIONS: Dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "none": identity,
}


@dataclass
class ProjectionConfig(EmbeddingOutputLayer.Config):
    joint_inner_bias: str = field(
        default="paper",
        metadata={
            "choices": ["paper", "all", "none"],
            "help": "biases inside the projections of the structure-aware output layers: as in "
            "eqs. 6, 7b and 12 to 14 of Pappas et al. (2018) (output_structure has that of eq. 12, "
            "deep_residual one in each layer), in every projection, or in none",
        },
    )


@dataclass
class StructureConfig(ProjectionConfig):
    joint_activation: str = field(
        default="tanh",
        metadata={
            "choices": list(ACTIVATIONS),
            "help": "nonlinearity of the structure-aware output layers",
        },
    )


def inner_bias(config: Any, in_paper: bool) -> bool:
    """Whether a projection has a bias, by ``--joint-inner-bias``."""
    choices = {"paper": in_paper, "all": True, "none": False}
    return lookup(choices, config.joint_inner_bias, "--joint-inner-bias")


def activation(config: Any) -> Callable[[Tensor], Tensor]:
    """The nonlinearity ``--joint-activation``."""
    return lookup(ACTIVATIONS, config.joint_activation, "--joint-activation")


def require_modules(layer: type, *parts: Any) -> None:
    """Refuse numbers in place of a layer's projections.

    Raises:
        TypeError: naming the way to make them from sizes.
    """
    for part in parts:
        if not isinstance(part, nn.Module):
            name = layer.__name__
            raise TypeError(
                f"{name}: {part!r} must be a module; from sizes it is made by "
                f"{name}.build({name}.Config(), embedding, hidden_size, None)"
            )


def make_projection(inputs: int, outputs: int, bias: bool) -> nn.Linear:
    """A linear map that initially preserves the scale of its inputs."""
    projection = nn.Linear(inputs, outputs, bias)
    nn.init.normal_(projection.weight, std=inputs**-0.5)
    if bias:
        nn.init.zeros_(projection.bias)
    return projection


class StructureOutputLayer(EmbeddingOutputLayer):
    """The embeddings and one projection, of the contexts or of the classes (eqs. 6, 7a, 7b).

    Args:
        embedding: the decoder's input embeddings ``E``, ``(V, d)``.
        projection: between the space of ``E`` and that of the decoder states.
        nonlinearity: after the projection; by default that of the layer's equation.
        bias: whether classes have biases.
    """

    Config = ProjectionConfig
    default_nonlinearity = "none"

    def __init__(
        self,
        embedding: nn.Embedding,
        projection: nn.Linear,
        nonlinearity: Optional[Callable[[Tensor], Tensor]] = None,
        bias: bool = True,
    ):
        super().__init__(embedding, bias)
        require_modules(type(self), projection)
        self.projection = projection
        default = ACTIVATIONS[self.default_nonlinearity]
        self.nonlinearity = default if nonlinearity is None else nonlinearity
