"""Checks of what a loss is given; none reads a tensor's values on an accelerator."""

from typing import Optional

import torch
from torch import Tensor

NO_IGNORE_INDEX = torch.iinfo(torch.int64).min
"""For ``ignore_index``: PyTorch's default would silently drop targets of -100."""


def check_reduction(reduction: str) -> None:
    """Refuse an unknown reduction.

    Raises:
        ValueError: names it and the two choices.
    """
    if reduction not in ("sum", "none"):
        raise ValueError(
            f"reduction={reduction!r}: must be 'sum' or 'none' (one value per position)"
        )


def check_flat(targets: Tensor) -> None:
    """Refuse targets with a dimension for sentences.

    Raises:
        ValueError: with the shape.
    """
    if targets.dim() != 1:
        raise ValueError(
            f"targets {tuple(targets.shape)}: must be (N,); flatten batch and time, and remove the "
            "positions of padding"
        )


def check_smoothing(smoothing: float) -> None:
    """Refuse an impossible probability of all wrong classes.

    Raises:
        ValueError: with the number.
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing={smoothing}: must be at least 0 and below 1")


def check_ignore_index(ignore_index: Optional[int], num_classes: int) -> None:
    """Refuse an ``ignore_index`` that is not a class, such as PyTorch's default of -100.

    Raises:
        ValueError: with the number.
    """
    if ignore_index is not None and not 0 <= ignore_index < num_classes:
        raise ValueError(
            f"ignore_index={ignore_index}: must be a class, at least 0 and below {num_classes:,}, "
            "or None"
        )


def check_sizes(
    context: Tensor, targets: Tensor, class_embeddings: Tensor, class_bias: Optional[Tensor]
) -> None:
    """Refuse tensors whose sizes do not fit together.

    Raises:
        ValueError: with the shapes.
    """
    if context.dim() != 2 or targets.shape != context.shape[:1]:
        raise ValueError(
            f"context {tuple(context.shape)} and targets {tuple(targets.shape)}: must be (N, D) "
            "and (N,); flatten batch and time, and remove the positions of padding"
        )
    if class_embeddings.dim() != 2 or class_embeddings.size(1) != context.size(1):
        raise ValueError(
            f"class embeddings {tuple(class_embeddings.shape)} for contexts "
            f"{tuple(context.shape)}: must be (V, D) with the same D"
        )
    if class_bias is not None and class_bias.shape != class_embeddings.shape[:1]:
        raise ValueError(
            f"class bias {tuple(class_bias.shape)}: must be ({len(class_embeddings)},), a number "
            "for each class"
        )


def check_targets(targets: Tensor, num_classes: int) -> None:
    """Refuse targets that are no class, on a CPU; kernels of accelerators check them themselves.

    Raises:
        ValueError: with the first such target, or with their type if that is not int64.
    """
    if targets.dtype != torch.int64:
        raise ValueError(f"targets of type {targets.dtype}: must be torch.int64")
    if not _may_read(targets):
        return
    wrong = (targets < 0) | (targets >= num_classes)
    if wrong.any():
        raise ValueError(
            f"target {int(targets[wrong][0])}: must be a class, at least 0 and below "
            f"{num_classes:,}; remove positions to ignore, such as padding, beforehand"
        )


def check_ascending(ids: Tensor) -> None:
    """Refuse ids that are negative, or not ascending and distinct.

    Raises:
        ValueError: with the first such id or pair. On an accelerator, which fails later and without
            them, if ids are not ascending.
    """
    wrong = ids[1:] <= ids[:-1]
    if not _may_read(ids):
        _fail_later(wrong)
        return
    if len(ids) > 0 and int(ids[0]) < 0:
        raise ValueError(f"sampled id {int(ids[0])}: must be a class, at least 0")
    if wrong.any():
        first = int(wrong.nonzero()[0])
        raise ValueError(
            f"sampled ids {int(ids[first])}, {int(ids[first + 1])} at {first} and {first + 1}: "
            "must be ascending and distinct (torch.unique)"
        )


def check_included(sampled_ids: Tensor, targets: Tensor, columns: Tensor) -> None:
    """Refuse targets that are not among the sampled classes.

    Args:
        sampled_ids: ascending, ``(S,)``.
        targets: ``(N,)``.
        columns: where in ``sampled_ids`` each target would be, ``(N,)``.
    Raises:
        ValueError: with the first such target. An accelerator fails later and without it.
    """
    if len(targets) == 0:
        return
    wrong = columns >= len(sampled_ids)
    if len(sampled_ids) > 0:
        wrong = wrong | (sampled_ids[columns.clamp(max=len(sampled_ids) - 1)] != targets)
    if not _may_read(targets):
        _fail_later(wrong)
    elif wrong.any():
        raise ValueError(
            f"target {int(targets[wrong][0])} is not among the sampled ids: includes_targets needs "
            "all of them"
        )


def _fail_later(wrong: Tensor) -> None:
    """Make an accelerator fail where something is wrong, without waiting for it.

    Its kernels refuse ids out of range, but would compute something else with ids in another order.
    Nothing is checked while a graph is traced.
    """
    if type(wrong) is Tensor and not torch.compiler.is_compiling():
        torch._assert_async(~wrong.any())


def _may_read(tensor: Tensor) -> bool:
    """Whether reading values costs nothing: on a CPU, and not while a graph is traced."""
    is_plain = type(tensor) in (Tensor, torch.nn.Parameter)
    return is_plain and tensor.device.type == "cpu" and not torch.compiler.is_compiling()
