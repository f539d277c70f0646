"""A GPU, whose synchronizations with the host are counted as PyTorch warns of them."""

import collections
import warnings
from typing import Any

import torch


class GPU:
    """While it lasts, float32 is float32, and what the host waits for is counted.

    Attributes:
        waits: warnings of ``torch.cuda.set_sync_debug_mode``, by how often they came.
    """

    device = torch.device("cuda")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin to count anew."""
        self.waits: collections.Counter = collections.Counter()
        self.uploads: collections.Counter = collections.Counter()

    def __enter__(self) -> "GPU":
        self._before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self._catching = warnings.catch_warnings()
        self._catching.__enter__()
        warnings.simplefilter("always")
        self._show, warnings.showwarning = warnings.showwarning, self._count
        torch.cuda.set_sync_debug_mode("warn")
        return self

    def _count(self, message: Any, *details: Any, **more: Any) -> None:
        if "synchronizing CUDA operation" in str(message):
            self.waits["synchronized"] += 1

    def __exit__(self, *args: Any) -> None:
        torch.cuda.set_sync_debug_mode("default")
        warnings.showwarning = self._show
        self._catching.__exit__(*args)
        matmul, cudnn = self._before
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = matmul, cudnn
