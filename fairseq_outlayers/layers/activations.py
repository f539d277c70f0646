"""Functions of layers without a nonlinearity."""

from torch import Tensor


def identity(x: Tensor) -> Tensor:
    """No nonlinearity; TorchScript cannot compile a lambda, and pickle cannot store one."""
    return x
