"""Devices that tests run on: a GPU where there is one, a pretended one everywhere else."""

import importlib
from contextlib import contextmanager, suppress
from typing import Any, Iterator

import pytest
import torch
from torch.utils import _pytree as pytree

from tests.devices.gpu import GPU

# Before the first backward pass of the process, which decides on how many devices there are. Beside
# a GPU, PyTorch would take the pretended device for the machine's accelerator.
pretended: Any = None
if not torch.cuda.is_available():
    with suppress(ImportError):  # an older PyTorch
        pretended = importlib.import_module("tests.devices.pretended")


@contextmanager
def device_of_kind(kind: str) -> Iterator[Any]:
    """Something with a ``device``, which exists as long as the block lasts.

    A GPU computes in float32 here, not in TF32.
    """
    if kind == "pretended":
        if pretended is None:
            pytest.skip("a GPU is here, or PyTorch has no backends in Python")
        with pretended.PretendedDevice() as device:
            yield device
    else:
        with GPU() as device:
            yield device


def to_device(batch: Any, device: torch.device) -> Any:
    """A batch with all its tensors on a device."""
    return pytree.tree_map(lambda x: x.to(device) if isinstance(x, torch.Tensor) else x, batch)


DEVICES = ["pretended", pytest.param("cuda", marks=pytest.mark.gpu)]
"""For ``pytest.mark.parametrize("kind", DEVICES)``."""
TOLERANCES = {"pretended": 1e-5, "cuda": 1e-4}
"""Of float32: a GPU adds up in another order."""
