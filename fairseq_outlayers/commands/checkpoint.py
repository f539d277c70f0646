"""What a checkpoint holds, and what is regenerated from a seed instead."""

from pathlib import Path
from typing import Any, Dict

import torch
from torch import Tensor

from fairseq_outlayers.checkpoints.free_space import leaves
from fairseq_outlayers.checkpoints.integrity import require_whole
from fairseq_outlayers.commands.base import Command
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.reservoirs.regenerated import VERSION, Version

WEIGHT_BYTES = 4  # of a regenerated weight, had it been saved


def checkpoint_report(path: Path) -> str:
    """A table in plain text: parameters and megabytes by where they come from.

    Raises:
        UserError: if there is no fairseq checkpoint at ``path``.
    """
    checkpoint = _load(path)
    weights = _floating(checkpoint["model"])
    optimizer = _floating(checkpoint.get("last_optimizer_state") or {})
    keys = [key for key in checkpoint["model"] if key.rpartition(".")[2] == VERSION]
    versions = [Version.from_tensor(checkpoint["model"][key]) for key in keys]
    in_file = sum(tensor.numel() for tensor in weights.values())
    regenerated = sum(version.elements for version in versions)
    seeds = ", ".join(sorted({str(version.seed) for version in versions}))
    rows = [("weights in the file", in_file, _bytes(weights))]
    if versions:
        title = f"regenerated from seed {seeds}, not in the file"
        rows.append((title, regenerated, regenerated * WEIGHT_BYTES))
    moments = sum(tensor.numel() for tensor in optimizer.values())
    rows.append(("optimizer state", moments, _bytes(optimizer)))
    lines = [str(path)]
    lines += [f"  {title:46} {n:>13,} {size / 1e6:>10,.1f} MB" for title, n, size in rows]
    lines.append(f"  {'file':60} {path.stat().st_size / 1e6:>10,.1f} MB")
    share = regenerated / max(in_file + regenerated, 1)
    lines.append(f"  share of the model's weights that is regenerated: {share:.1%}")
    return "\n".join(lines) + "\n"


def _load(path: Path) -> Dict[str, Any]:
    if not path.is_file():
        raise UserError(f"{path}: there is no such file")
    require_whole(str(path))
    try:
        checkpoint = torch.load(path, map_location="cpu")
    except UserError:
        raise
    except Exception as error:  # what is no pickle can fail in any way
        raise UserError(f"{path}: this is no checkpoint, it cannot be read") from error
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get("model"), dict):
        raise UserError(f"{path}: this is no checkpoint of fairseq's, it has no 'model'")
    return checkpoint


def _floating(value: Any) -> Dict[int, Tensor]:
    """All floating-point tensors in nested containers, each storage once."""
    tensors = (leaf for leaf in leaves(value) if isinstance(leaf, Tensor))
    return {tensor.data_ptr(): tensor for tensor in tensors if tensor.is_floating_point()}


def _bytes(tensors: Dict[int, Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors.values())


COMMAND = Command(
    summary="Say what a checkpoint holds and what a seed regenerates",
    example="checkpoints/checkpoint_best.pt",
    add_arguments=lambda parser: parser.add_argument("path", type=Path, metavar="FILE"),
    run=lambda options: print(checkpoint_report(options.path), end=""),
)
