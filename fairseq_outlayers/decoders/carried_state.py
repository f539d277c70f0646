"""The state that a recurrent language model carries from one window of text to the next."""

from typing import Any, Dict, Optional

import torch
import torch.distributed as dist
from fairseq.distributed import utils as distributed_utils
from torch import Tensor


class CarriedState:
    """The hidden state at the end of the last window.

    The iterator over windows owns it and passes it to the model with every batch, as a
    :class:`WindowState`, so the model is stateless between calls. The models of an ensemble share
    one, which has a state for each.

    Attributes:
        state: the last one carried, ``(layers, 2, B, H)``, detached; None before the first window.
        of_all_ranks: the states of all data-parallel processes, rows in the order of their ranks.
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

    def by_model(self) -> Dict[Any, Tensor]:
        """The states of all models; of key None, that of a checkpoint."""
        return dict(self._by_model)

    def gather(self) -> None:
        """Gather the states of all processes, for the one that saves the checkpoint."""
        if self.state is None or not dist.is_initialized():
            return
        # Not the default group: two groups of NCCL may wait for each other.
        group = distributed_utils.get_data_parallel_group()
        states = [torch.empty_like(self.state) for _ in range(dist.get_world_size(group))]
        if len(states) == 1:
            return
        dist.all_gather(states, self.state.contiguous(), group=group)
        self.of_all_ranks = torch.cat(states, dim=2)


class WindowState:
    """The carried state of one window, which keeps the states that it starts from.

    fairseq trains a batch whose gradients overflow again (``--amp-batch-retries``); it starts
    where it started before, not where it has ended.

    Args:
        carried: of the text.
    """

    def __init__(self, carried: CarriedState):
        self._carried = carried
        self._starts: Optional[Dict[Any, Tensor]] = None

    def of(self, model: Any) -> Optional[Tensor]:
        """A model's initial state in this window, or that of a checkpoint; None for zeros."""
        if self._starts is None:
            self._starts = self._carried.by_model()
        return self._starts.get(model, self._starts.get(None))

    def carry(self, state: Tensor, model: Any = None) -> None:
        """As :meth:`CarriedState.carry`."""
        self._carried.carry(state, model)

    def gather(self) -> None:
        """As :meth:`CarriedState.gather`."""
        self._carried.gather()
