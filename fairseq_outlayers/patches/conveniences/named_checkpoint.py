"""Refuse to train anew where a checkpoint was named that is not there.

``load_checkpoint`` (fairseq/checkpoint_utils.py) trains from the start, with a line in the log, if
``--restore-file`` names a file that does not exist, or a folder is where ``--restore-file``,
``--finetune-from-model`` or the last checkpoint should be.
"""

import functools
import os
from typing import Any, Callable, Optional

from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replace_once

DEFAULT = "checkpoint_last.pt"
SUFFIX = "checkpoint_suffix"  # of a trainer


def apply() -> None:
    """Wrap ``load_checkpoint``, the beginning of a training."""
    replace_once(checkpoint_utils, "load_checkpoint", _found)


def _found(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def load_checkpoint(cfg: Any, trainer: Any, **passthrough: Any) -> Any:
        last = os.path.join(cfg.save_dir, DEFAULT)
        if cfg.restore_file != DEFAULT:
            _require_file("--restore-file", cfg.restore_file, getattr(trainer, SUFFIX, None))
        elif PathManager.exists(last):
            _require_file("--save-dir", last)
        elif cfg.finetune_from_model is not None:
            _require_file("--finetune-from-model", cfg.finetune_from_model)
        return stock(cfg, trainer, **passthrough)

    return load_checkpoint


def _require_file(option: str, path: str, suffix: Optional[str] = None) -> None:
    """Raises UserError if there is nothing at a path, or a folder.

    Args:
        suffix: of the part that this process has, where checkpoints are saved in parts.
    """
    place = path.replace(".pt", f"{suffix or ''}.pt")
    if os.path.isdir(place):
        raise UserError(f"{option} {place}: a folder, not a checkpoint: name a file in it")
    if not PathManager.exists(place):
        raise UserError(f"{option} {place}: no such checkpoint: check the path")
