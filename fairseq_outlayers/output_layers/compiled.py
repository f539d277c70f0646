"""Output layers and their models as ``torch.jit.script`` can compile them, for inference.

TorchScript compiles ``forward`` and all that it calls. An output layer asks its tables for rows
and keeps computed class vectors, which is no TorchScript; but once a model is trained, scores are
``project(hidden)`` by a matrix of classes. ``torch.jit.script`` asks a module's
``__prepare_scriptable__`` what to compile in its place.
"""

import copy
from typing import Any, Dict, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers.base import OutputLayer


class CompiledProjection(nn.Module):
    """``F.linear(project(hidden), class_matrix, class_biases)``; a subclass has ``project``."""

    project: Any
    class_matrix: Tensor
    class_biases: Optional[Tensor]

    def forward(self, hidden: Tensor) -> Tensor:
        return F.linear(self.project(hidden), self.class_matrix, self.class_biases)


@torch.no_grad()
def compiled_layer(layer: OutputLayer) -> nn.Module:
    """What TorchScript compiles in the place of an output layer, with the parameters of now.

    Tables are shared with the layer; class vectors that are computed are computed once.

    Raises:
        UserError: in training, whose dropout and gradients the matrix would not have.
    """
    if layer.training:
        raise UserError("torch.jit.script compiles models for inference: call model.eval() first")
    kind = type(layer)
    # TorchScript reads annotations of attributes, and would compile properties.
    namespace: Dict[str, Any] = {"__annotations__": {}, "project": kind.project}
    made = type(f"Compiled{kind.__name__}", (CompiledProjection,), namespace)()
    for name, value in vars(layer).items():
        if not name.startswith("_"):
            setattr(made, name, value)
    for name in kind.context_modules:
        made.add_module(name, getattr(layer, name))
    bias = layer.class_bias()
    made.register_buffer("class_matrix", layer.class_embeddings().detach())
    made.register_buffer("class_biases", None if bias is None else bias.detach())
    return made


class CompilesOutputLayer(nn.Module):
    """Mix-in for models whose encoder and decoder are fairseq's, which are TorchScript."""

    def __prepare_scriptable__(self) -> nn.Module:
        """The model with a compiled output layer; this one stays as it is."""
        decoder: Any = self.decoder
        embedding = getattr(getattr(self, "encoder", decoder), "embed_tokens", None)
        if type(embedding) is not nn.Embedding:
            raise UserError(
                f"torch.jit.script: source vectors by {type(embedding).__name__} are no "
                "TorchScript; a model without --source-embedding and --internal-vocabulary is"
            )
        return _with(self, "decoder", _with(decoder, "output_projection",
                     compiled_layer(decoder.output_projection)))  # fmt: skip


class NotCompiled:
    """Mix-in for models that TorchScript cannot compile, and which say so."""

    def __prepare_scriptable__(self) -> nn.Module:
        raise UserError(
            f"torch.jit.script: {type(self).__name__} is no TorchScript: its steps are functions "
            "made for each batch, with named states; use --arch transformer_outlayers, or "
            "python -m fairseq_outlayers export"
        )


def _with(module: Any, name: str, child: nn.Module) -> Any:
    """A copy that shares everything but one child."""
    twin = copy.copy(module)
    twin._modules = {**module._modules, name: child}
    return twin
