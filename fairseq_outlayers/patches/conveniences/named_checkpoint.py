"""Refuse to start from scratch if a named checkpoint does not exist.

``load_checkpoint`` (fairseq/checkpoint_utils.py) starts from scratch, with a line in the log, if
``--restore-file`` or ``--continue-once`` does not exist, or if one of them,
``--finetune-from-model`` or the last checkpoint is a folder.
"""

import os
from typing import Any, Callable

from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from fairseq_outlayers.checkpoints.names import LAST, last_of
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


# Training calls it first.
@replaces(checkpoint_utils, "load_checkpoint")
def _require_named(stock: Callable[..., Any], cfg: Any, trainer: Any, **passthrough: Any) -> Any:
    suffix = getattr(trainer, "checkpoint_suffix", "")
    last = last_of(cfg.save_dir, suffix)
    if cfg.restore_file != LAST:
        _require_file("--restore-file", cfg.restore_file, suffix)
    elif PathManager.exists(last):
        _require_file("--save-dir", last)
    elif getattr(cfg, "continue_once", None) is not None:  # comes before --finetune-from-model
        _require_file("--continue-once", cfg.continue_once)
    elif cfg.finetune_from_model is not None:
        _require_file("--finetune-from-model", cfg.finetune_from_model)
    return stock(cfg, trainer, **passthrough)


def _require_file(option: str, path: str, suffix: str = "") -> None:
    """Raise UserError if a path does not exist or is a folder.

    Args:
        suffix: of this process's shard, if checkpoints are sharded.
    """
    shard = path.replace(".pt", f"{suffix}.pt")
    if os.path.isdir(shard):
        raise UserError(f"{option} {shard}: a folder, not a checkpoint: name a file in it")
    if not PathManager.exists(shard):
        raise UserError(f"{option} {shard}: no such checkpoint: check the path")
