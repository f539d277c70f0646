"""Output layers and models for ``torch.jit.script``, for inference.

TorchScript cannot compile table lookups and cached class embeddings of output layers. For a trained
model, scores are the product of ``project(hidden)`` and a class matrix, so
``__prepare_scriptable__``, which ``torch.jit.script`` calls, returns a module with that matrix.
"""

import copy
import inspect
from typing import Any, Dict, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers.base import OutputLayer


class CompiledProjection(nn.Module):
    """``F.linear(project(hidden), class_matrix, class_biases)``; subclasses define ``project``."""

    project: Any
    class_matrix: Tensor
    class_biases: Optional[Tensor]

    def forward(self, hidden: Tensor) -> Tensor:
        return F.linear(self.project(hidden), self.class_matrix, self.class_biases)


@torch.no_grad()
def compiled_layer(layer: OutputLayer) -> nn.Module:
    """A TorchScript-compatible replacement of an output layer, with its current parameters.

    Tables are shared with the layer; computed class embeddings are computed once.

    Raises:
        UserError: in training.
    """
    if layer.training:
        raise UserError("torch.jit.script compiles models for inference: call model.eval() first")
    kind = type(layer)
    # A new class, because TorchScript reads annotations and compiles properties of the original.
    namespace: Dict[str, Any] = {"__annotations__": {}, "project": kind.project}
    made = type(f"Compiled{kind.__name__}", (CompiledProjection,), namespace)()
    for name, value in vars(layer).items():
        if not name.startswith("_"):
            setattr(made, name, value)
    # Only what the method reads: TorchScript would compile the modules of class embeddings, too.
    read = set(inspect.unwrap(kind.project).__code__.co_names)
    for kept in ("_modules", "_parameters", "_buffers"):
        found = getattr(layer, kept)
        getattr(made, kept).update({name: found[name] for name in found if name in read})
    bias = layer.class_bias()
    made.register_buffer("class_matrix", layer.class_embeddings().detach())
    made.register_buffer("class_biases", None if bias is None else bias.detach())
    return made


class CompilesOutputLayer(nn.Module):
    """Mix-in for models with fairseq's encoder and decoder, which TorchScript supports."""

    def __prepare_scriptable__(self) -> nn.Module:
        """A copy of the model with a compiled output layer."""
        decoder: Any = self.decoder
        embedding = getattr(getattr(self, "encoder", decoder), "embed_tokens", None)
        if type(embedding) is not nn.Embedding:
            raise UserError(
                f"torch.jit.script: cannot compile the source embedding {type(embedding).__name__};"
                " use a model without --source-embedding and --internal-vocabulary"
            )
        return _with(self, "decoder", _with(decoder, "output_projection",
                     compiled_layer(decoder.output_projection)))  # fmt: skip


class NotCompiled:
    """Mix-in for models that TorchScript cannot compile: raises a clear error."""

    def __prepare_scriptable__(self) -> nn.Module:
        raise UserError(
            f"torch.jit.script: cannot compile {type(self).__name__}, whose steps are closures; "
            "use --arch transformer_outlayers, or python -m fairseq_outlayers export"
        )


def _with(module: Any, name: str, child: nn.Module) -> Any:
    """A shallow copy with one child replaced."""
    twin = copy.copy(module)
    twin._modules = {**module._modules, name: child}
    return twin
