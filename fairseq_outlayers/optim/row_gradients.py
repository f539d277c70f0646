"""What a trainer does to gradients, for gradients that may be row-sparse.

fairseq's functions of the same names leave sparse gradients unscaled without a word
(``multiply_grads``) or raise (``clip_grad_norm_``, ``LegacyDistributedDataParallel``).
"""

from contextlib import contextmanager
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence

import torch
import torch.distributed as dist
from torch import Tensor


def merge_rows(parameters: Iterable[Tensor]) -> List[Tensor]:
    """Make every sparse gradient list each row once; returns the numbers of all gradients.

    They may be changed in place. Of a sparse gradient these are the rows listed, ``(n, ...)``.
    """
    numbers = []
    for parameter in parameters:
        if parameter.grad is None:
            continue
        if parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
            numbers.append(parameter.grad.values())
        else:
            numbers.append(parameter.grad)
    return numbers


def merge_each_batch(table: Tensor) -> None:
    """Add up a table's gradient batch by batch, as several processes do.

    autograd lists the rows of all batches of an update (``--update-freq``) behind each other, and
    merging them afterwards adds a word's gradients in the order of its places. Processes add up
    their own batch first. So here each batch's rows are merged before they join those before, on a
    CPU; then two processes equal one with ``--update-freq 2`` bit for bit. On an accelerator the
    host would have to wait for every table and batch, and the two differ in the last digits.
    """
    table.register_hook(_merged_on_cpu)


def _merged_on_cpu(gradient: Tensor) -> Tensor:
    return gradient.coalesce() if gradient.is_sparse and gradient.device.type == "cpu" else gradient


def multiply(parameters: Iterable[Tensor], factor: Any) -> None:
    """Multiply all gradients by a number or a tensor of one number."""
    for numbers in merge_rows(parameters):
        numbers.mul_(factor.to(numbers.device) if torch.is_tensor(factor) else factor)


def clip_norm(
    parameters: Iterable[Tensor],
    max_norm: float,
    aggregate: Optional[Callable[[Tensor], Tensor]] = None,
) -> Tensor:
    """Scale all gradients such that their joint norm is at most ``max_norm``, if that is not 0.

    A row listed twice would enter the norm as two rows; it is the sum that counts.

    Args:
        parameters: whose gradients are clipped.
        max_norm: 0 to leave them as they are.
        aggregate: makes the norm over all processes of this process's.
    Returns:
        The norm before.
    """
    numbers = merge_rows(parameters)
    if not numbers:
        return torch.zeros(())
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(numbers)).float())
    if aggregate is not None:
        norm = aggregate(norm)
    if max_norm > 0:
        torch._foreach_mul_(numbers, (max_norm / (norm + 1e-6)).clamp(max=1))
    return norm


@contextmanager
def hidden(parameters: Sequence[Tensor]) -> Iterator[None]:
    """Parameters that ``LegacyDistributedDataParallel`` passes over as long as this lasts."""
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)


def average_over_processes(parameter: Tensor, group: Any) -> None:
    """Set the gradient of a table to its mean over the processes of ``group``.

    It may be sparse or dense, the same in all processes; None counts as a sparse one without rows.
    """
    world_size = dist.get_world_size(group)
    if parameter.grad is not None and not parameter.grad.is_sparse:
        dist.all_reduce(parameter.grad.div_(world_size), group=group)
        return
    gradient = _without_rows(parameter) if parameter.grad is None else parameter.grad.coalesce()
    rows, values = gradient.indices()[0], gradient.values() / world_size
    # A process that has run out of batches repeats one with a loss of zero. What that batch lists
    # has not been met in this update.
    met = values.flatten(1).any(1) if values.dim() > 1 else values != 0
    all_rows = _gather(rows[met], group)
    all_values = _gather(values[met], group)
    parameter.grad = torch.sparse_coo_tensor(
        all_rows.unsqueeze(0), all_values, parameter.shape, check_invariants=False
    ).coalesce()


def _without_rows(table: Tensor) -> Tensor:
    rows = torch.empty(1, 0, dtype=torch.long, device=table.device)
    values = table.new_empty(0, *table.shape[1:])
    return torch.sparse_coo_tensor(
        rows, values, table.shape, is_coalesced=True, check_invariants=False
    )


def _gather(own: Tensor, group: Any) -> Tensor:
    """``(n, ...)`` of all processes behind each other; every process may have another ``n``."""
    count = torch.tensor([len(own)], device=own.device)
    counts = [torch.empty_like(count) for _ in range(dist.get_world_size(group))]
    dist.all_gather(counts, count, group=group)
    sizes = [int(size) for size in counts]
    padded = own.new_zeros(max(sizes), *own.shape[1:])
    padded[: len(own)] = own
    everything = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(everything, padded, group=group)
    return torch.cat([part[:size] for part, size in zip(everything, sizes, strict=True)])
