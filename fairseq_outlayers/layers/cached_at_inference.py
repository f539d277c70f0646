"""A table computed from parameters, cached at inference."""

from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.layers.autocast import compute_dtype

Versions = List[Tuple[int, int, int]]


class CachedAtInference(nn.Module):
    """Mix-in for modules that compute a table from parameters.

    In training, or with gradients enabled, the table is computed at every call. Otherwise it is
    cached until such a call, until the module is trained, loaded or moved, a parameter is replaced
    or changed in place, or autocast is entered or left. Code whose changes PyTorch does not count
    (through ``.data``, by its fused optimizers, of parameters made in ``torch.inference_mode()``)
    must call :meth:`invalidate`.
    """

    _cached: Optional[Tensor] = None
    _state: Optional[Tuple[torch.dtype, Versions]] = None

    def cached(self, compute: Callable[[], Tensor], parameters: Iterable[nn.Parameter]) -> Tensor:
        """The result of ``compute``, cached at inference.

        Args:
            compute: the table.
            parameters: all that it is computed from, of this module or of others.
        """
        if self.computes_anew():
            return compute()
        given = list(parameters)
        # The dtype of products, and so of the table, is another one under autocast.
        state = compute_dtype(given[0]), parameter_versions(given)
        if self._cached is None or self._state != state:
            self._cached, self._state = compute(), state
        return self._cached

    def may_change(self) -> bool:
        """Whether parameters may change, so that the table must not be cached."""
        return self.training or torch.is_grad_enabled()

    def computes_anew(self) -> bool:
        """Whether this call must compute; if so, the cached table is discarded."""
        changes = self.may_change()
        if changes:
            self.invalidate()
        return changes

    def invalidate(self) -> None:
        """Discard the cached table."""
        self._cached = None

    def __getstate__(self) -> Dict[str, Any]:
        """What copies and files contain: not the cached table."""
        return {**self.__dict__, "_cached": None, "_state": None}

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


def parameter_versions(parameters: Iterable[nn.Parameter]) -> Versions:
    """What differs if a parameter was replaced or changed in place: address, size, version."""
    return [
        # An inference tensor has no version.
        (p.data_ptr(), p.numel(), 0 if p.is_inference() else p._version)
        for p in parameters
    ]
