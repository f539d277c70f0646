"""Refuse to train anew where a checkpoint was named that is not there.

``load_checkpoint`` (fairseq/checkpoint_utils.py) trains from the start, with a line in the log, if
``--restore-file`` names a file that does not exist.
"""

import functools
from typing import Any, Callable

from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replace_once

DEFAULT = "checkpoint_last.pt"


def apply() -> None:
    """Wrap ``load_checkpoint``, the beginning of a training."""
    replace_once(checkpoint_utils, "load_checkpoint", _found)


def _found(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def load_checkpoint(cfg: Any, trainer: Any, **passthrough: Any) -> Any:
        name = cfg.restore_file
        if name != DEFAULT and not PathManager.exists(name):
            raise UserError(f"--restore-file {name}: no such checkpoint: check the path")
        return stock(cfg, trainer, **passthrough)

    return load_checkpoint
