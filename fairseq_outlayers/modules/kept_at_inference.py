"""A table that is computed from parameters, and kept as long as nothing can have changed them."""

from typing import Any, Callable, Optional

import torch
import torch.nn as nn
from torch import Tensor


class KeptAtInference(nn.Module):
    """Mix-in for modules that compute a table from their parameters.

    With gradients, or in training, the table is computed at every call. Without, and outside
    training, it is kept until the module is trained, loaded or moved. Whoever changes parameters in
    place in between must call :meth:`forget`.
    """

    _kept: Optional[Tensor] = None

    def kept(self, compute: Callable[[], Tensor]) -> Tensor:
        """What ``compute`` returns, or returned before."""
        if self.may_change():
            return compute()
        if self._kept is None:
            self._kept = compute()
        return self._kept

    def may_change(self) -> bool:
        """Whether the table is wanted for training, and must not be kept."""
        return self.training or torch.is_grad_enabled()

    def forget(self) -> None:
        """Compute the table anew at the next call."""
        self._kept = None

    def train(self, mode: bool = True) -> Any:
        if mode:
            self.forget()
        return super().train(mode)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        self.forget()
        return super()._apply(fn, recurse)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self.forget()
        super()._load_from_state_dict(*args, **kwargs)
