"""A large table of which only the rows in use are trained (active-row working set).

The table and its moments (whatever an optimizer keeps for every number of a parameter) are plain
tensors, on any device. The parameter that the model, the optimizer, gradient clipping and data
parallelism see holds the rows in use, and has the same size whatever the size of the table.
"""

from typing import Any, Dict, Optional

import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.tables.table import Table
from fairseq_outlayers.tables.transfer import pinned, rows_on

Moments = Dict[str, Tensor]


class ActiveRows:
    """Rows of a table ``(V, ...)`` in its parameter ``(R, ...)``, ``R`` being the most at a time.

    Args:
        view: what the model asks for rows. Its parameter shrinks to ``(R, ...)`` and stays the same
            object.
        most_rows: ``R``.
        device: where the table is kept; None for wherever the parameter is.
    """

    def __init__(self, view: Table, most_rows: int, device: Optional[torch.device] = None):
        self.view, self.most_rows, self.device = view, most_rows, device
        parameter = view.parameter
        self.table = parameter.detach().to(device or parameter.device)
        self.moments: Moments = {}
        self.ids: Optional[Tensor] = None
        self.is_whole = False
        parameter.data = parameter.new_zeros(most_rows, *parameter.shape[1:])

    @property
    def parameter(self) -> Tensor:
        """Of the model; it holds the rows in use, or the whole table."""
        return self.view.parameter

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
        self._follow_parameter()
        self.ids = ids.to(self.table.device)
        _fill(self.parameter.data, self.table, self.ids)
        self.view.use_first(len(ids))
        states = self._states(optimizer)
        if not states:
            self.moments.clear()  # those of an optimizer that has been reset
        for name, state in states.items():
            if name not in self.moments:
                self.moments[name] = self._initial(state)
            _fill(state, self.moments[name], self.ids)

    def deactivate(self) -> None:
        """Have no rows in use, as at the start; what was trained since :meth:`put_back` is lost."""
        self.ids = None
        self.parameter.data.zero_()
        self.view.use_all()

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

    def show_all(self, read: Tensor, optimizer: Any) -> bool:
        """Let every row be looked up, for evaluation: nothing may be trained then.

        A table that is kept elsewhere than the parameter gives some rows at a time only, and those
        that the model reads must be in the parameter.

        Args:
            read: ids of the rows that the model reads, ``(n,)``.
            optimizer: of the rows that were trained.
        Returns:
            Whether rows of the parameter have the ids of the table. If not, they are ``read``.
        Raises:
            UserError: if the model reads more rows than the parameter has room for.
        """
        if self.device is None:
            self.show_whole(optimizer)
        else:
            self.show_some(read, optimizer)
        return self.is_whole

    def show_whole(self, optimizer: Any) -> None:
        """Let the parameter be the whole table, which must not be trained then."""
        if self.is_whole:
            return
        self.put_back(optimizer)
        self._follow_parameter()
        self._rows = self.parameter.data
        self.parameter.data = self.table
        self.is_whole = True
        self.view.use_all()

    def show_rows(self) -> None:
        """Let the parameter hold the rows in use again."""
        if self.is_whole:
            self.parameter.data = self._rows
            self.is_whole = False
            if self.ids is not None:
                self.view.use_first(len(self.ids))

    @torch.no_grad()
    def show_some(self, ids: Tensor, optimizer: Any) -> None:
        """Let the parameter hold some rows that are not trained, and others be looked up.

        Until other rows are activated, the table finds any of its rows by id.

        Args:
            ids: of the rows, ``(n,)``.
            optimizer: of the rows that were trained.
        """
        if len(ids) > self.most_rows:
            raise UserError(
                f"a validation batch has {len(ids)} different words of one side, and with "
                f"--table-device cpu there is room for {self.most_rows} of them: choose a smaller "
                "--max-tokens-valid or --batch-size-valid"
            )
        self.put_back(optimizer)
        self.show_rows()
        self._follow_parameter()
        self.ids = None
        _fill(self.parameter.data, self.table, ids.to(self.table.device))
        self.view.use_elsewhere(self._rows_of, self.most_rows)

    def _rows_of(self, ids: Tensor) -> Tensor:
        self.table = pinned(self.table, self.parameter.device)
        rows = rows_on(self.parameter.device, self.table, ids.flatten())
        return rows.view(*ids.shape, *self.table.shape[1:])

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
        rows[:number].copy_(rows_on(rows.device, table, ids))
    rows[number:].zero_()
