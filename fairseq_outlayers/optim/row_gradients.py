"""Clipping, scaling and averaging of gradients that may be row-sparse.

fairseq's own functions silently leave sparse gradients unscaled (``multiply_grads``) or raise
(``clip_grad_norm_``, ``LegacyDistributedDataParallel``).
"""

import functools
from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
from torch import Tensor

# Rows ``(n,)``, their sums ``(n, ...)``, and the number of distinct rows, a scalar; rows after
# those are padding with zero sums.
Merged = Tuple[Tensor, Tensor, Tensor]


def coalesced_values(parameters: Iterable[Tensor]) -> List[Tensor]:
    """Coalesce sparse gradients; returns the values of all gradients.

    They may be changed in place. Those of a sparse gradient are the listed rows, ``(n, ...)``.
    """
    given = [parameter for parameter in parameters if parameter.grad is not None]
    _coalesce([p for p in given if _gradient(p).is_sparse and not _gradient(p).is_coalesced()])
    gradients = map(_gradient, given)
    return [gradient.values() if gradient.is_sparse else gradient for gradient in gradients]


def _gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


def _coalesce(tables: Sequence[Tensor]) -> None:
    """Coalesce the sparse gradients of tables.

    On an accelerator all of them together, with one synchronization instead of one per table.
    """
    if not tables or tables[0].device.type == "cpu":
        for table in tables:
            table.grad = _gradient(table).coalesce()
        return
    _set(tables, [_merged(_gradient(table)) for table in tables])


def _set(tables: Sequence[Tensor], merged: Sequence[Merged]) -> None:
    """Set the gradients of tables to merged rows, with one synchronization on an accelerator."""
    numbers = torch.stack([number for *_, number in merged]).tolist()
    for table, (rows, values, _), number in zip(tables, merged, numbers, strict=True):
        table.grad = _sparse(rows[:number], values[:number], table.shape)


def _merged(gradient: Tensor) -> Merged:
    rows = gradient._indices()[0]
    return _merge(rows, gradient._values(), [len(rows)])


def _merge(listed: Tensor, values: Tensor, sizes: List[int]) -> Merged:
    """Sum the values of equal rows into tensors of the same size, without synchronizing.

    Args:
        listed: rows, ``(n,)``.
        values: ``(n, ...)``
        sizes: of the parts of these that are added one after the other. A GPU adds equal rows of
            one part in any order; if each has distinct rows, the sums have the same bits each time.
    """
    if len(listed) == 0:
        return listed, values, listed.new_zeros(())
    ordered, order = listed.sort(stable=True)
    steps = (ordered[1:] != ordered[:-1]).long().cumsum(0)
    index = torch.cat([ordered.new_zeros(1), steps])
    rows = torch.zeros_like(ordered).scatter_(0, index, ordered)
    slots = torch.empty_like(index).scatter_(0, order, index)
    sums = torch.zeros_like(values)
    for slot, added in zip(slots.split(sizes), values.split(sizes), strict=True):
        sums.index_add_(0, slot, added)
    return rows, sums, index[-1] + 1


def _sparse(rows: Tensor, values: Tensor, shape: Tuple[int, ...]) -> Tensor:
    return torch.sparse_coo_tensor(
        rows.unsqueeze(0), values, shape, is_coalesced=True, check_invariants=False
    )


def merge_each_batch(table: Tensor) -> None:
    """Sum a table's gradient batch by batch, as several processes do.

    autograd concatenates the rows of all batches of an update (``--update-freq``); coalescing them
    afterwards sums a word's gradients position by position, but processes sum their own batch
    first. So on a CPU each batch is coalesced before it is accumulated, and two processes equal one
    with ``--update-freq 2`` bit for bit. Rows whose gradient is zero, such as that of padding, are
    dropped, as :func:`average_over_processes` drops them; otherwise their moments would move them
    on one process only. On an accelerator this would synchronize for every table and batch, so
    one process and two differ.
    """
    table.register_hook(_merged_on_cpu)


def _merged_on_cpu(gradient: Tensor) -> Tensor:
    if not gradient.is_sparse or gradient.device.type != "cpu":
        return gradient
    gradient = gradient.coalesce()
    rows, values = gradient.indices()[0], gradient.values()
    not_zero = _not_zero(values)
    if bool(not_zero.all()):
        return gradient
    return _sparse(rows[not_zero], values[not_zero], tuple(gradient.shape))


def _not_zero(values: Tensor) -> Tensor:
    """Which rows ``(n, ...)`` are not all zero, ``(n,)``. A CPU reads few of the numbers."""
    numbers = values.flatten(1) if values.dim() > 1 else values.unsqueeze(1)
    if values.device.type != "cpu":
        return numbers.any(1)
    found = numbers[:, 0] != 0
    left = (~found).nonzero()[:, 0]
    return found.index_put((left,), numbers[left].any(1))


def multiply(parameters: Iterable[Tensor], factor: Any) -> None:
    """Multiply all gradients by a number or a tensor of one number."""
    numbers = coalesced_values(parameters)
    if not numbers:
        return
    if torch.is_tensor(factor):
        factor = factor.to(numbers[0].device).reshape(())
    torch._foreach_mul_(numbers, factor)


def clip_norm(
    parameters: Iterable[Tensor],
    max_norm: float,
    aggregate: Optional[Callable[[Tensor], Tensor]] = None,
) -> Tensor:
    """Scale all gradients to a joint norm of at most ``max_norm``.

    Coalesces first: duplicate rows would count separately.

    Args:
        parameters: whose gradients are clipped.
        max_norm: 0 for no clipping.
        aggregate: maps the norm of this process to that of all processes.
    Returns:
        The norm before clipping.
    """
    numbers = coalesced_values(parameters)
    if not numbers:
        return torch.zeros(())
    wide = functools.reduce(torch.promote_types, {each.dtype for each in numbers}, torch.float32)
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(numbers, 2, wide)))
    if aggregate is not None:
        norm = aggregate(norm)
    if max_norm > 0:
        torch._foreach_mul_(numbers, (max_norm / (norm + 1e-6)).clamp(max=1))
    return norm


@contextmanager
def hidden(parameters: Sequence[Tensor]) -> Iterator[None]:
    """Hide parameters from ``LegacyDistributedDataParallel``."""
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)


def average_over_processes(tables: Sequence[Tensor], group: Any) -> None:
    """Set the gradients of tables to their means over the processes of ``group``.

    Call it before ``GradScaler.unscale_``, or an overflow in one process skips its step alone, and
    clip afterwards. Each may be sparse or dense, the same in all processes; None counts as sparse
    without rows. All processes get the same bits. Synchronizes twice for all tables and processes.
    """
    world_size, listed = dist.get_world_size(group), []
    for table in tables:
        if table.grad is not None and not table.grad.is_sparse:
            dist.all_reduce(table.grad.div_(world_size), group=group)
        else:
            listed.append(table)
    if not listed:
        return
    own = [_merged(_without_rows(p) if p.grad is None else p.grad) for p in listed]
    # A process without further batches repeats one with zero loss. Its rows do not belong to this
    # update; neither does the padding of _merged. Both are zero.
    used = [_not_zero(values) for _, values, _ in own]
    counts = torch.stack([of_table.sum() for of_table in used])
    all_counts = [torch.empty_like(counts) for _ in range(world_size)]
    dist.all_gather(all_counts, counts, group=group)
    sizes = torch.stack([*all_counts, counts]).t().tolist()
    merged = []
    for (rows, values, _), is_used, of_table in zip(own, used, sizes, strict=True):
        *of_processes, number = of_table
        first = (~is_used).byte().argsort(stable=True)[:number]
        all_rows = _gather(rows[first], of_processes, group)
        all_values = _gather(values[first].div_(world_size), of_processes, group)
        merged.append(_merge(all_rows, all_values, of_processes))
    _set(listed, merged)


def _without_rows(table: Tensor) -> Tensor:
    rows = torch.empty(0, dtype=torch.long, device=table.device)
    return _sparse(rows, table.new_empty(0, *table.shape[1:]), table.shape)


def _gather(own: Tensor, sizes: Sequence[int], group: Any) -> Tensor:
    """Concatenate tensors ``(n, ...)`` of all processes.

    Args:
        own: this process's.
        sizes: ``n`` of every process.
    """
    if max(sizes) == 0:
        return own
    padded = own.new_zeros(max(sizes), *own.shape[1:])
    padded[: len(own)] = own
    gathered = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(gathered, padded, group=group)
    return torch.cat([part[:size] for part, size in zip(gathered, sizes, strict=True)])
