"""A large table of which only the rows in use are trained (active-row working set).

The table and its moments (the optimizer's element-wise state) are plain tensors, on any device. The
parameter that the model, the optimizer, gradient clipping and data parallelism see contains only
the rows in use; its size does not depend on that of the table.
"""

from typing import Any, Dict, Optional

import torch
from torch import Tensor

from fairseq_outlayers.tables.table import Table
from fairseq_outlayers.tables.transfer import pinned, rows_on

Moments = Dict[str, Tensor]


class ActiveRows:
    """Rows of a table ``(V, ...)`` in its parameter ``(R, ...)``, at most ``R`` at a time.

    Args:
        view: the model's table object. Its parameter shrinks to ``(R, ...)`` and stays the same
            object.
        most_rows: ``R``.
        device: of the full table; None for that of the parameter.
    """

    def __init__(self, view: Table, most_rows: int, device: Optional[torch.device] = None):
        self.view, self.most_rows, self.device = view, most_rows, device
        parameter = view.parameter
        self.table = parameter.detach().to(device or parameter.device)
        self.moments: Moments = {}
        self.ids: Optional[Tensor] = None
        self._set_aside: Optional[Tensor] = None
        self._tried_to_pin = False
        parameter.data = parameter.new_zeros(most_rows, *parameter.shape[1:])

    @property
    def parameter(self) -> Tensor:
        """The model's parameter, with the rows in use or the full table."""
        return self.view.parameter

    @property
    def is_evaluating(self) -> bool:
        """Whether the parameter has rows for evaluation, and those in training are set aside."""
        return self._set_aside is not None

    @torch.no_grad()
    def activate(self, ids: Tensor, optimizer: Any) -> None:
        """Load other rows into the parameter, and their moments into the optimizer.

        Args:
            ids: of the rows, ``(n,)``, ``n <= R``. Further rows of the parameter are zero.
            optimizer: a ``torch.optim.Optimizer``, or None.
        """
        # In place: the optimizer and data parallelism hold references to the parameter.
        assert self.parameter.grad is None, "rows change within an update"
        self.write_back(optimizer)
        self.end_evaluation()
        self._follow_parameter()
        self.ids = ids.to(self.table.device)
        _fill(self.parameter.data, self.table, self.ids)
        self.view.use_first(len(ids))
        states = self._states(optimizer)
        if not states:
            self.moments.clear()  # the optimizer has been reset
        for name, state in states.items():
            if name not in self.moments:
                self.moments[name] = self._initial(state)
            _fill(state, self.moments[name], self.ids)

    def deactivate(self) -> None:
        """Use no rows, as initially; discards updates since :meth:`write_back`."""
        self.ids = None
        self.parameter.data.zero_()
        self.view.use_all()

    @torch.no_grad()
    def write_back(self, optimizer: Any) -> None:
        """Write the rows in use back to the table and the moments."""
        if self.ids is None or self.is_evaluating:
            return
        number = len(self.ids)
        self.table.index_copy_(0, self.ids, self.parameter.data[:number].to(self.table.device))
        for name, state in self._states(optimizer).items():
            if name not in self.moments:
                self.moments[name] = self._initial(None)
            rows = state[:number].to(self.table.device)
            self.moments[name].index_copy_(0, self.ids, rows)

    def begin_evaluation(self, read: Tensor, optimizer: Any) -> bool:
        """Allow lookups of all rows, for evaluation only.

        A table on another device than the parameter returns only some rows at a time, and the input
        rows must be in the parameter.

        Args:
            read: ids of the input rows, ``(n,)``.
            optimizer: of the trained rows.
        Returns:
            True: the parameter is the whole table, so ids are unchanged. False: it has the rows
            ``read``, so ids must become positions in ``read``.
        """
        if self.device is None:
            self.show_whole(optimizer)
        else:
            self.show_some(read, optimizer)
        return self.device is None

    def show_whole(self, optimizer: Any) -> None:
        """Make the parameter the full table, for evaluation only."""
        if not self.is_evaluating:
            self._set_rows_aside(optimizer)
            self.parameter.data = self.table
            self.view.use_all()

    @torch.no_grad()
    def show_some(self, ids: Tensor, optimizer: Any) -> None:
        """Make the parameter some rows, for evaluation only, and look up others by id.

        Args:
            ids: of the rows, ``(n,)``; may be more than ``R``.
            optimizer: of the trained rows.
        """
        self._set_rows_aside(optimizer)
        ids = ids.to(self.table.device)
        self.parameter.data = rows_on(self.parameter.device, self.table, ids)
        self.view.use_elsewhere(self._rows_of, self.most_rows)

    def _set_rows_aside(self, optimizer: Any) -> None:
        self.write_back(optimizer)
        self.end_evaluation()
        self._follow_parameter()
        self._set_aside = self.parameter.data

    def end_evaluation(self) -> None:
        """Put the rows in training into the parameter again."""
        if self._set_aside is None:
            return
        self.parameter.data, self._set_aside = self._set_aside, None
        if self.ids is None:
            self.view.use_all()
        else:
            self.view.use_first(len(self.ids))

    def _rows_of(self, ids: Tensor) -> Tensor:
        if not self._tried_to_pin and self.parameter.device.type == "cuda":
            self.table, self._tried_to_pin = pinned(self.table, self.parameter.device), True
        rows = rows_on(self.parameter.device, self.table, ids.flatten())
        return rows.view(*ids.shape, *self.table.shape[1:])

    def load(self, table: Tensor) -> None:
        """Load a table from a checkpoint, ``(V, ...)``."""
        with torch.no_grad():
            self.table.copy_(table)
        self.end_evaluation()
        self.ids = None

    def _follow_parameter(self) -> None:
        if self.device is None and self.table.device != self.parameter.device:
            self.table = self.table.to(self.parameter.device)
            self.ids = None if self.ids is None else self.ids.to(self.table.device)
            # Moments of a checkpoint were loaded before the table was moved.
            self.moments = {name: value.to(self.table) for name, value in self.moments.items()}

    def _states(self, optimizer: Any) -> Moments:
        """The optimizer's element-wise state of the parameter."""
        found = {} if optimizer is None else optimizer.state.get(self.parameter, {})
        shape = self.parameter.shape
        return {
            name: state
            for name, state in found.items()
            if torch.is_tensor(state) and state.shape == shape
        }

    def _initial(self, state: Optional[Tensor]) -> Tensor:
        """Initial moments: zero, or the optimizer's constant initial value."""
        moments = torch.zeros_like(self.table)
        if state is not None and len(state) and bool((state == state[0]).all()):
            moments.copy_(state[0])
        return moments


def _fill(rows: Tensor, table: Tensor, ids: Tensor) -> None:
    """Copy rows of a table to the start of ``rows``, and zero the rest."""
    number = len(ids)
    if rows.device == table.device:
        torch.index_select(table, 0, ids, out=rows[:number])
    else:
        rows[:number].copy_(rows_on(rows.device, table, ids))
    rows[number:].zero_()
