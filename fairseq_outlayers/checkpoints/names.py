"""Names in fairseq's checkpoints, and of them (``save_checkpoint`` in its checkpoint_utils.py)."""

import os
import re
from typing import Any, Dict, Optional

# The group is the suffix of a shard.
NAME = re.compile(r"checkpoint(?:\d+|_\d+_\d+|_last|_best|\.best_.+?)((?:-shard|-rank-)\d+)?\.pt")
LAST = "checkpoint_last.pt"
# Of the output layer's parameters, and the one with a number for each class.
OUTPUT = "decoder.output_projection."
BIAS = f"{OUTPUT}bias"
# In the extra_state of checkpoints that no training has saved; of averages, the number of their
# checkpoints.
AVERAGE, EXPORT = "outlayers_average", "outlayers_export"


def option_of(options: Any, name: str) -> Any:
    """An option of a checkpoint's configuration or namespace; None if it has none of this name."""
    return options.get(name) if hasattr(options, "get") else getattr(options, name, None)


def last_of(folder: str, suffix: str) -> str:
    """The path of a training's last checkpoint.

    Args:
        folder: its ``--save-dir``.
        suffix: of fairseq's trainer: ``--checkpoint-suffix``, and that of a shard.
    """
    return os.path.join(folder, f"checkpoint_last{suffix}.pt")


def without_average(extra_state: Dict[str, Any]) -> Dict[str, Any]:
    """The ``extra_state`` of a checkpoint without the moving average of ``--store-ema``."""
    return {name: value for name, value in extra_state.items() if not name.startswith("ema")}


def shard_of(name: str) -> Optional[str]:
    """The suffix of a shard, "" for a whole checkpoint; None if fairseq gives no such name."""
    found = NAME.fullmatch(name)
    return found and (found[1] or "")
