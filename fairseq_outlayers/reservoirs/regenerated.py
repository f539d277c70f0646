"""Frozen weights that are regenerated from a seed instead of saved in checkpoints.

A module's frozen weights are non-persistent buffers. The checkpoint contains a :class:`Version`:
seed and checksum, compared on loading (:mod:`fairseq_outlayers.tables.stored_version`).
"""

import zlib
from functools import partial
from typing import Iterable, NamedTuple, Optional, Tuple

import numpy as np
import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.reservoirs.random_stream import uniform
from fairseq_outlayers.tables.stored_version import register_version

VERSION = "regenerated_version"


class Version(NamedTuple):
    """A checkpoint's record of one module's regenerated weights."""

    seed: int
    elements: int  # number of regenerated weights
    checksum: int
    radii: Tuple[int, ...] = ()  # of a reservoir, in units of 2^-32

    def as_tensor(self) -> Tensor:
        return torch.tensor([self.seed, self.elements, self.checksum, *self.radii])

    @classmethod
    def from_tensor(cls, tensor: Tensor) -> "Version":
        """Inverse of :meth:`as_tensor`; raises ``UserError`` for a tensor of another shape."""
        if tensor.dim() != 1 or len(tensor) < len(cls._fields) - 1:
            raise UserError(
                f"the checkpoint is damaged: a {VERSION} has shape {tuple(tensor.shape)}; give "
                "another one"
            )
        seed, elements, checksum, *radii = tensor.tolist()
        return cls(seed, elements, checksum, tuple(radii))


def version_of(seed: int, tensors: Iterable[Tensor], radii: Tuple[int, ...] = ()) -> Version:
    """The version of some float32 tensors on the CPU."""
    elements = checksum = 0
    for tensor in tensors:
        elements += tensor.numel()
        checksum = zlib.crc32(tensor.numpy().astype("<f4", copy=False).tobytes(), checksum)
    return Version(seed, elements, checksum, radii)


def check(name: str, found: Version, own: Version) -> None:
    """Compare a checkpoint's version with the module's own.

    Raises:
        UserError: if they differ; it names the module and the seed.
    """
    if found.seed != own.seed:
        raise UserError(
            f"{name}: the checkpoint was trained with the frozen weights of --reservoir-seed "
            f"{found.seed}, not {own.seed}: pass --reservoir-seed {found.seed}"
        )
    if found.elements != own.elements:
        raise UserError(
            f"{name}: the checkpoint was trained with {found.elements:,} frozen weights, but the "
            f"model has {own.elements:,}: pass the architecture and the sizes (--hidden-size, "
            "--embed-dim and so on) of the training"
        )
    if found != own:
        raise UserError(
            f"{name}: the frozen weights regenerated from --reservoir-seed {own.seed} differ from "
            f"those of the training (checksum {own.checksum:08x}, trained with "
            f"{found.checksum:08x}): pass the --reservoir-sparsity, --input-norm and --init-range "
            "of the training; if they are the same, the code that draws the weights has "
            "changed, or the checkpoint is damaged"
        )


def freeze(module: nn.Module, name: str, seed: int, bound: Optional[float] = None) -> None:
    """Replace all parameters of a module by frozen random weights.

    Biases become 0, gains of layer norms 1, the row of padding 0, other weights uniform.

    Args:
        module: keeps its class and its ``forward``.
        name: of the module within the model; determines the weights together with the seed.
        seed: of the frozen stream.
        bound: of the uniform weights; by default Glorot's, for matrices.
    """
    tensors = []
    for path, parameter in list(module.named_parameters()):
        owner_path, _, leaf = path.rpartition(".")
        owner = module.get_submodule(owner_path)
        value = _initial(owner, leaf, parameter)
        if value is None:
            drawn = uniform(seed, f"{name}.{path}", tuple(parameter.shape))
            limit = _glorot(parameter) if bound is None else bound
            value = torch.from_numpy((limit * drawn).astype(np.float32))
        if isinstance(owner, nn.Embedding) and owner.padding_idx is not None:
            value[owner.padding_idx] = 0.0
        delattr(owner, leaf)
        owner.register_buffer(leaf, value.to(torch.get_default_dtype()), persistent=False)
        tensors.append(value)
    version = version_of(seed, tensors).as_tensor()
    register_version(module, VERSION, version, partial(_refuse, name))


def _initial(owner: nn.Module, leaf: str, parameter: Tensor) -> Optional[Tensor]:
    """The value of a parameter that is not random, or None."""
    if leaf.endswith("bias"):
        return torch.zeros(parameter.shape, dtype=torch.float32)
    # Not isinstance: with apex installed, fairseq uses its layer norm on a GPU.
    gain = hasattr(owner, "normalized_shape")
    return torch.ones(parameter.shape, dtype=torch.float32) if gain else None


def _glorot(parameter: Tensor) -> float:
    rows, columns = parameter.shape
    return (6 / (rows + columns)) ** 0.5


def _refuse(name: str, found: Tensor, own: Tensor) -> None:
    check(name, Version.from_tensor(found), Version.from_tensor(own))
