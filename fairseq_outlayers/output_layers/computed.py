"""Class embeddings that are computed, and kept as long as nothing can have changed them."""

from abc import abstractmethod
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from fairseq_outlayers.output_layers.base import OutputLayer


class ComputedOutputLayer(OutputLayer):
    """An output layer whose class embeddings are a function of parameters.

    With gradients they are computed at every call, so once a batch. Without, and outside training,
    those of all classes are kept until the layer is trained, loaded or moved. Whoever changes
    parameters in place in between must call :meth:`forget`.
    """

    _kept: Optional[Tensor] = None

    @abstractmethod
    def encode_classes(self, ids: Optional[Tensor]) -> Tensor:
        """What ``class_embeddings`` returns, computed."""

    def class_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        if ids is not None or self.training or torch.is_grad_enabled():
            return self.encode_classes(ids)
        if self._kept is None:
            self._kept = self.encode_classes(None)
        return self._kept

    def forget(self) -> None:
        """Compute the class embeddings anew at the next call."""
        self._kept = None

    def train(self, mode: bool = True) -> "ComputedOutputLayer":
        if mode:
            self.forget()
        return super().train(mode)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        self.forget()
        return super()._apply(fn, recurse)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        self.forget()
        super()._load_from_state_dict(*args, **kwargs)
