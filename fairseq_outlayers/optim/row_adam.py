"""Adam that updates only the rows that a gradient lists."""

from typing import Any, Callable, Dict, Optional

import torch
from torch import Tensor
from torch.autograd.graph import increment_version

# On a CPU: copies of this many numbers stay in the cache between operations.
NUMBERS_AT_A_TIME = 2**18


class RowAdam(torch.optim.AdamW):
    """Adam (Kingma & Ba 2015), lazy in the rows of tables with row-sparse gradients.

    Parameters with dense gradients are updated by PyTorch's fused AdamW. Of a table with a sparse
    gradient, only the listed rows change, including their moments, weight decay and update counts.
    Bias correction uses a row's own count. With the global count, the first update of a row late in
    training would be ``(1 - beta1) / sqrt(1 - beta2)`` learning rates, 3.16 with the usual betas,
    instead of one.

    With gradients for all rows in every update the two are equal. After a row-sparse update, a
    dense gradient of the table updates every row; and only RowAdam can load the state, whose
    ``step`` of a table then is ``(V,)``. Weight decay is 0 by default (PyTorch's AdamW: 0.01).

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay of the first and the second moment.
        eps: added to the root of the second moment, after its correction as in the paper.
        weight_decay: decoupled, times the learning rate.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=True)
        # PyTorch's fused AdamW handles a gradient scaler's overflow itself, so its step is called
        # even then. Row updates do not, so the scaler must skip the step.
        self._step_supports_amp_scaling = False

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        """Add parameters with options of their own, as in PyTorch.

        Raises:
            ValueError: for an option of AdamW that updates of rows do not have.
        """
        _refuse_others(param_group)
        super().add_param_group(param_group)

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Load a state, also one of ``torch.optim.AdamW``.

        Raises:
            ValueError: for an option of AdamW that updates of rows do not have.
        """
        for group in state_dict["param_groups"]:
            _refuse_others(group)
        super().load_state_dict(state_dict)

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """One update, after calling ``closure`` if given; returns its result."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        by_rows = {
            parameter: parameter.grad
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
            and (parameter.grad.is_sparse or self._has_rows(parameter))
        }
        for parameter in by_rows:
            parameter.grad = None  # hidden from AdamW, which refuses sparse gradients
        _step_without_hooks(self)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter in by_rows:
                    parameter.grad = by_rows[parameter]
                    update_rows(parameter, _listed(parameter.grad), self._rows_of(parameter), group)
                elif parameter.grad is not None:
                    increment_version(parameter)  # PyTorch's fused AdamW does not
        return loss

    def _has_rows(self, parameter: Tensor) -> bool:
        return parameter in self.state and self.state[parameter]["step"].dim() == 1

    def _rows_of(self, table: Tensor) -> Dict[str, Tensor]:
        """The table's state, with an update count per row."""
        state = self.state[table]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=table.device)
            state["exp_avg"] = torch.zeros_like(table, memory_format=torch.preserve_format)
            state["exp_avg_sq"] = torch.zeros_like(table, memory_format=torch.preserve_format)
        if state["step"].dim() == 0:  # until now, every update was dense
            state["step"] = state["step"].expand(len(table)).clone()
        return state


def _refuse_others(group: Dict[str, Any]) -> None:
    for name in ("amsgrad", "maximize"):
        if group.get(name):
            raise ValueError(f"{name}: RowAdam does not support it: use torch.optim.AdamW")


def _step_without_hooks(optimizer: torch.optim.AdamW) -> None:
    """AdamW's update; hooks run around the whole step, which PyTorch has wrapped itself."""
    step: Any = torch.optim.AdamW.step
    if getattr(step, "hooked", False):  # once there has been a plain AdamW
        step = step.__wrapped__
    step(optimizer)


def _listed(gradient: Tensor) -> Tensor:
    """The gradient as a coalesced sparse tensor; a dense one lists every row."""
    if gradient.is_sparse:
        return gradient.coalesce()
    rows = torch.arange(len(gradient), device=gradient.device).unsqueeze(0)
    return torch.sparse_coo_tensor(
        rows, gradient, gradient.shape, is_coalesced=True, check_invariants=False
    )


def update_rows(
    table: Tensor, gradient: Tensor, state: Dict[str, Tensor], group: Dict[str, Any]
) -> None:
    """Update the ``n`` rows that a gradient lists, in place.

    Args:
        table: ``(V, ...)``.
        gradient: of the same shape, sparse in its first dimension, coalesced.
        state: ``exp_avg`` and ``exp_avg_sq`` shaped like the table, and ``step``, ``(V,)``.
        group: ``lr``, ``betas``, ``eps`` and ``weight_decay``.
    """
    rows, values = gradient.indices()[0], gradient.values()
    at_a_time = max(len(rows), 1)
    if table.device.type == "cpu":
        at_a_time = max(NUMBERS_AT_A_TIME // max(table[0].numel(), 1), 1)
    for some in zip(rows.split(at_a_time), values.split(at_a_time), strict=True):
        _update_some(table, *some, state, group)


def _update_some(
    table: Tensor, rows: Tensor, values: Tensor, state: Dict[str, Tensor], group: Dict[str, Any]
) -> None:
    beta1, beta2 = group["betas"]
    steps = state["step"].index_select(0, rows) + 1
    mean = state["exp_avg"].index_select(0, rows).lerp_(values, 1 - beta1)
    square = state["exp_avg_sq"].index_select(0, rows)
    square.mul_(beta2).addcmul_(values, values, value=1 - beta2)
    state["step"].index_copy_(0, rows, steps)
    state["exp_avg"].index_copy_(0, rows, mean)
    state["exp_avg_sq"].index_copy_(0, rows, square)

    # In float64: 1 - beta2 in float32 has four digits. One number per row, (n, 1, ...).
    counts = steps.double().view(-1, *[1] * (values.dim() - 1))
    step_size = (group["lr"] / (1 - beta1**counts)).to(values.dtype)
    root = (1 - beta2**counts).sqrt().to(values.dtype)
    changed = table.index_select(0, rows)
    if group["weight_decay"] != 0:
        changed.mul_(1 - group["lr"] * group["weight_decay"])
    changed.addcdiv_(mean.mul_(step_size), square.sqrt_().div_(root).add_(group["eps"]), value=-1)
    table.index_copy_(0, rows, changed)
