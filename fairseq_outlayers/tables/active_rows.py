"""A large table of which only the rows in use are trained: an active-row working set.

The table and its moments (whatever an optimizer keeps for every number of a parameter) are plain
tensors, on any device. The parameter that the model, the optimizer, gradient clipping and data
parallelism see holds the rows in use, and has the same size whatever the size of the table.
"""

from typing import Any, Dict, Optional

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.tables.rows import set_length, set_source

Moments = Dict[str, Tensor]


class ActiveRows:
    """Rows of a table ``(V, ...)`` in a parameter ``(R, ...)``, ``R`` being the most at a time.

    Args:
        parameter: of the model, ``(V, ...)``; it shrinks to ``(R, ...)`` and stays the same object.
        most_rows: ``R``.
        device: where the table is kept; None for wherever the parameter is.
    """

    def __init__(
        self, parameter: nn.Parameter, most_rows: int, device: Optional[torch.device] = None
    ):
        self.parameter, self.device = parameter, device
        self.table = parameter.detach().to(device or parameter.device)
        self.moments: Moments = {}
        self.ids: Optional[Tensor] = None
        self.is_whole = False
        parameter.data = parameter.new_zeros(most_rows, *parameter.shape[1:])

    @torch.no_grad()
    def activate(self, ids: Tensor, optimizer: Any) -> None:
        """Put other rows into the parameter, and the moments of the same rows into the optimizer.

        Args:
            ids: of the rows, ``(n,)``, ``n <= R``. The rows of the parameter beyond are zero.
            optimizer: a ``torch.optim.Optimizer``, or None.
        """
        # Nothing but its numbers may change: the optimizer and data parallelism hold the parameter.
        assert self.parameter.grad is None, "rows change within an update"
        self.put_back(optimizer)
        self.show_rows()
        set_source(self.parameter, None)
        self._follow_parameter()
        self.ids = ids.to(self.table.device)
        _fill(self.parameter.data, self.table, self.ids)
        set_length(self.parameter, len(ids))
        states = self._states(optimizer)
        if not states:
            self.moments.clear()  # those of an optimizer that has been reset
        for name, state in states.items():
            if name not in self.moments:
                self.moments[name] = self._initial(state)
            _fill(state, self.moments[name], self.ids)

    @torch.no_grad()
    def put_back(self, optimizer: Any) -> None:
        """Bring the table and the moments up to date with the rows in use."""
        if self.ids is None or self.is_whole:
            return
        number = len(self.ids)
        self.table.index_copy_(0, self.ids, self.parameter.data[:number].to(self.table.device))
        for name, state in self._states(optimizer).items():
            if name not in self.moments:
                self.moments[name] = self._initial(None)
            rows = state[:number].to(self.table.device)
            self.moments[name].index_copy_(0, self.ids, rows)

    def show_whole(self, optimizer: Any) -> None:
        """Let the parameter be the whole table, which must not be trained then."""
        if self.is_whole:
            return
        self.put_back(optimizer)
        self._follow_parameter()
        self._rows = self.parameter.data
        self.parameter.data = self.table
        self.is_whole = True
        set_length(self.parameter, None)

    def show_rows(self) -> None:
        """Let the parameter hold the rows in use again."""
        if self.is_whole:
            self.parameter.data = self._rows
            self.is_whole = False
            set_length(self.parameter, None if self.ids is None else len(self.ids))

    @torch.no_grad()
    def show_some(self, ids: Tensor, optimizer: Any) -> None:
        """Let the parameter hold some rows that are not trained, and others be looked up.

        Until other rows are activated, ``table_rows`` finds any row of the table by its id.

        Args:
            ids: of the rows, ``(n,)``, ``n <= R``.
            optimizer: of the rows that were trained.
        """
        self.put_back(optimizer)
        self.show_rows()
        self._follow_parameter()
        self.ids = None
        _fill(self.parameter.data, self.table, ids.to(self.table.device))
        set_length(self.parameter, len(ids))
        set_source(self.parameter, self._rows_of)

    def _rows_of(self, ids: Tensor) -> Tensor:
        rows = self.table.index_select(0, ids.flatten().to(self.table.device))
        return rows.to(self.parameter.device).view(*ids.shape, *self.table.shape[1:])

    def load(self, table: Tensor) -> None:
        """Take over a table from a checkpoint, ``(V, ...)``."""
        with torch.no_grad():
            self.table.copy_(table)
        self.show_rows()
        self.ids = None

    def _follow_parameter(self) -> None:
        if self.device is None and self.table.device != self.parameter.device:
            self.table = self.table.to(self.parameter.device)
            # Those of a checkpoint were loaded beside a table that had not moved yet.
            self.moments = {name: value.to(self.table) for name, value in self.moments.items()}

    def _states(self, optimizer: Any) -> Moments:
        """What the optimizer keeps for every number of the parameter."""
        found = {} if optimizer is None else optimizer.state.get(self.parameter, {})
        shape = self.parameter.shape
        return {
            name: state
            for name, state in found.items()
            if torch.is_tensor(state) and state.shape == shape
        }

    def _initial(self, state: Optional[Tensor]) -> Tensor:
        """Moments of rows never met: zero, or where an optimizer starts instead."""
        moments = torch.zeros_like(self.table)
        if state is not None and len(state) and bool((state == state[0]).all()):
            moments.copy_(state[0])
        return moments


def _fill(rows: Tensor, table: Tensor, ids: Tensor) -> None:
    """Copy rows of a table to the beginning of ``rows``, zeros behind them."""
    number = len(ids)
    if rows.device == table.device:
        torch.index_select(table, 0, ids, out=rows[:number])
    else:
        rows[:number].copy_(table.index_select(0, ids))
    rows[number:].zero_()
