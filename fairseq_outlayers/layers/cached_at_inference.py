"""A table computed from parameters, cached at inference."""

from typing import Any, Callable, List, Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor


class CachedAtInference(nn.Module):
    """Mix-in for modules that compute a table from their parameters.

    In training, or with gradients enabled, the table is computed at every call. Otherwise it is
    cached until the module is trained, loaded or moved, or a parameter is changed in place. Code
    that changes one through ``.data``, which PyTorch does not count, must call :meth:`invalidate`.
    """

    _cached: Optional[Tensor] = None
    _versions: Optional[List[Tuple[int, int]]] = None

    def cached(self, compute: Callable[[], Tensor]) -> Tensor:
        """The result of ``compute``, cached at inference."""
        if self.may_change():
            return compute()
        versions = parameter_versions(self)
        if self._cached is None or self._versions != versions:
            self._cached, self._versions = compute(), versions
        return self._cached

    def may_change(self) -> bool:
        """Whether parameters may change, so that the table must not be cached."""
        return self.training or torch.is_grad_enabled()

    def invalidate(self) -> None:
        """Discard the cached table."""
        self._cached = None

    def train(self, mode: bool = True) -> Any:
        if mode:
            self.invalidate()
        return super().train(mode)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        self.invalidate()
        return super()._apply(fn, recurse)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self.invalidate()
        super()._load_from_state_dict(*args, **kwargs)


def parameter_versions(module: nn.Module) -> List[Tuple[int, int]]:
    """What differs if a parameter was replaced or changed in place: its address, its version."""
    return [
        (parameter.data_ptr(), 0 if parameter.is_inference() else parameter._version)
        for parameter in module.parameters()
    ]
