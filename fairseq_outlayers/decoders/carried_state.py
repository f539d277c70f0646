"""The state that a recurrent language model carries from one window of text to the next."""

from typing import Any, Dict, Optional

import torch
import torch.distributed as dist
from torch import Tensor


class CarriedState:
    """The hidden state at the end of the last window.

    The iterator over windows owns it and passes it to the model with every batch, so the model is
    stateless between calls. The models of an ensemble share one, which has a state for each.

    Attributes:
        state: the last one carried, ``(layers, 2, B, H)``, detached; None before the first window.
        of_all_ranks: the states of all data-parallel workers, rows in the order of their ranks.
    """

    def __init__(self) -> None:
        self.state: Optional[Tensor] = None
        self.of_all_ranks: Optional[Tensor] = None
        self._by_model: Dict[Any, Tensor] = {}

    def carry(self, state: Tensor, model: Any = None) -> None:
        """Store the state at the end of a window, detached (truncated BPTT).

        Args:
            state: ``(layers, 2, B, H)``.
            model: its owner; None for the state of a checkpoint, which every model starts from.
        """
        if model is None:
            self._by_model.clear()
        self.state = self.of_all_ranks = self._by_model[model] = state.detach()

    def of(self, model: Any) -> Optional[Tensor]:
        """The initial state of a model's next window; None for zeros."""
        return self._by_model.get(model, self._by_model.get(None))

    def gather(self) -> None:
        """Gather the states of all workers, for the one that saves the checkpoint."""
        if self.state is None or not (dist.is_initialized() and dist.get_world_size() > 1):
            return
        states = [torch.empty_like(self.state) for _ in range(dist.get_world_size())]
        dist.all_gather(states, self.state.contiguous())
        self.of_all_ranks = torch.cat(states, dim=2)
