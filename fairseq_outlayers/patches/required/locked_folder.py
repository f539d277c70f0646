"""Refuse a second training run in a save folder.

``fairseq-train`` does not check before it writes: two runs with one ``--save-dir`` overwrite each
other's checkpoints, and resume from them. The patch locks the folder
(:mod:`fairseq_outlayers.checkpoints.folder_lock`) when the trainer is constructed, in the process
that saves.

A run also starts anew over the checkpoints of an earlier one (``load_checkpoint`` in
fairseq/checkpoint_utils.py): from scratch or by ``--finetune-from-model`` if only
``checkpoint_last.pt`` is missing, and always if ``--restore-file`` names a checkpoint of another
folder, as in a command that is run again to resume. The patch refuses both.
"""

import os
from typing import Any, Callable, List

from fairseq import checkpoint_utils
from fairseq.distributed import utils
from fairseq.file_io import PathManager
from fairseq.trainer import Trainer

from fairseq_outlayers.checkpoints import folder_lock
from fairseq_outlayers.checkpoints.names import LAST, last_of, shard_of
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(Trainer, "__init__")
def _with_lock(stock: Callable[..., Any], self: Any, cfg: Any, *others: Any, **named: Any) -> None:
    if _saves_locally(cfg.checkpoint) and utils.is_master(cfg.distributed_training):
        folder_lock.acquire(cfg.checkpoint.save_dir)
    stock(self, cfg, *others, **named)


def _saves_locally(options: Any) -> bool:
    """Whether checkpoints go to an existing local folder; ``fairseq-train`` has created it."""
    folder = options.save_dir
    return (
        os.path.isdir(folder)
        and not options.no_save
        and not PathManager.path_requires_pathmanager(folder)
    )


@replaces(checkpoint_utils, "load_checkpoint")
def _refusing_to_begin_anew(
    stock: Callable[..., Any], cfg: Any, trainer: Any, **passthrough_args: Any
) -> Any:
    if _saves_locally(cfg):
        last = last_of(cfg.save_dir, trainer.checkpoint_suffix)
        if cfg.restore_file == LAST:
            _require_last(cfg.save_dir, last)
        elif os.path.exists(last) and not _is_in(cfg.save_dir, cfg.restore_file):
            raise UserError(
                f"{last} is of a training of its own, which one from --restore-file "
                f"{cfg.restore_file} would overwrite: leave out --restore-file and the --reset "
                "options to resume it, or name another --save-dir"
            )
    return stock(cfg, trainer, **passthrough_args)


def _require_last(folder: str, last: str) -> None:
    """Refuse a folder that has checkpoints but not the last one."""
    earlier = _earlier(folder)
    if earlier and not os.path.exists(last):
        raise UserError(
            f"{folder} has {earlier[-1]} but no {os.path.basename(last)} to resume from: a new "
            f"training would overwrite it. Pass --restore-file {os.path.join(folder, earlier[-1])} "
            "to resume, or another --save-dir."
        )


def _is_in(folder: str, restored: str) -> bool:
    """Whether a checkpoint is in the folder; a name without a path is in the current one."""
    return os.path.realpath(os.path.dirname(restored) or ".") == os.path.realpath(folder)


def _earlier(folder: str) -> List[str]:
    """Checkpoints in a folder but the last, oldest first."""
    names = [name for name in os.listdir(folder) if shard_of(name) == "" and name != LAST]
    return sorted(names, key=lambda name: os.path.getmtime(os.path.join(folder, name)))
