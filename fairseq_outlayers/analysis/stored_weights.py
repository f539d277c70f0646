"""What a checkpoint stores and what is regenerated from a seed."""

from pathlib import Path
from typing import Any, Dict, Iterator, List

from torch import Tensor

from fairseq_outlayers.checkpoints.free_space import leaves
from fairseq_outlayers.checkpoints.stored import load_stored
from fairseq_outlayers.reservoirs.regenerated import VERSION, Version

WEIGHT_BYTES = 4  # that saving a regenerated weight would take


def checkpoint_report(path: Path) -> str:
    """A plain-text table of parameters and megabytes by origin.

    Raises:
        UserError: if ``path`` is not a fairseq checkpoint.
    """
    checkpoint = load_stored(str(path), with_options=False)
    weights = _floating(checkpoint["model"])
    optimizer = _floating([checkpoint.get("last_optimizer_state"), *_moments(checkpoint)])
    keys = [key for key in checkpoint["model"] if key.rpartition(".")[2] == VERSION]
    # Shared embeddings have one version in two places.
    versions = {Version.from_tensor(checkpoint["model"][key]) for key in keys}
    in_file = sum(tensor.numel() for tensor in weights.values())
    regenerated = sum(version.elements for version in versions)
    seeds = ", ".join(sorted({str(version.seed) for version in versions}))
    rows = [("weights in the file", in_file, _bytes(weights))]
    if versions:
        title = f"regenerated from seed {seeds}, not in the file"
        rows.append((title, regenerated, regenerated * WEIGHT_BYTES))
    moments = sum(tensor.numel() for tensor in optimizer.values())
    rows.append(("optimizer state", moments, _bytes(optimizer)))
    average = _floating(_averages(checkpoint))
    if average:
        numbers = sum(tensor.numel() for tensor in average.values())
        rows.append(("moving average (--store-ema)", numbers, _bytes(average)))
    lines = [str(path)]
    lines += [f"  {title:46} {n:>13,} {size / 1e6:>10,.1f} MB" for title, n, size in rows]
    lines.append(f"  {'file':60} {path.stat().st_size / 1e6:>10,.1f} MB")
    share = regenerated / max(in_file + regenerated, 1)
    lines.append(f"  share of the model's weights regenerated: {share:.1%}")
    return "\n".join(lines) + "\n"


def _moments(checkpoint: Dict[str, Any]) -> Iterator[Any]:
    """Optimizer states of partitioned tables, which the task saves."""
    for part in (checkpoint.get("extra_state") or {}).values():
        if isinstance(part, dict) and "moments" in part:
            yield part["moments"]


def _averages(checkpoint: Dict[str, Any]) -> List[Any]:
    """The averaged weights, which fairseq may save in two precisions."""
    extra = checkpoint.get("extra_state") or {}
    return [value for name, value in extra.items() if name.startswith("ema")]


def _floating(value: Any) -> Dict[int, Tensor]:
    """All floating-point tensors in nested containers by data pointer."""
    tensors = (leaf for leaf in leaves(value) if isinstance(leaf, Tensor))
    return {tensor.data_ptr(): tensor for tensor in tensors if tensor.is_floating_point()}


def _bytes(tensors: Dict[int, Tensor]) -> int:
    return sum(tensor.nbytes for tensor in tensors.values())
