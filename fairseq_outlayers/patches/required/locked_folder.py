"""Refuse a second training run in a save folder.

``fairseq-train`` does not check before it writes: two runs with one ``--save-dir`` overwrite each
other's checkpoints, and resume from them. The patch locks the folder
(:mod:`fairseq_outlayers.checkpoints.folder_lock`) when the trainer is constructed, in the process
that saves.

A run also starts anew (from scratch, or by ``--finetune-from-model``), over the checkpoints of an
earlier one, if only ``checkpoint_last.pt`` is missing (``load_checkpoint`` in
fairseq/checkpoint_utils.py). The patch refuses that.
"""

import os
from typing import Any, Callable, List

from fairseq import checkpoint_utils
from fairseq.distributed import utils
from fairseq.file_io import PathManager
from fairseq.trainer import Trainer

from fairseq_outlayers.checkpoints import folder_lock
from fairseq_outlayers.checkpoints.names import LAST, shard_of
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
    if _saves_locally(cfg) and cfg.restore_file == LAST:
        suffix = trainer.checkpoint_suffix
        last = os.path.join(cfg.save_dir, f"checkpoint_last{suffix}.pt")
        earlier = _earlier(cfg.save_dir)
        if earlier and not os.path.exists(last):
            raise UserError(
                f"{cfg.save_dir} has {earlier[-1]} but no {os.path.basename(last)} to resume "
                "from: a new training would overwrite it. Pass --restore-file "
                f"{os.path.join(cfg.save_dir, earlier[-1])} to resume, or another --save-dir."
            )
    return stock(cfg, trainer, **passthrough_args)


def _earlier(folder: str) -> List[str]:
    """Checkpoints in a folder but the last, oldest first."""
    names = [name for name in os.listdir(folder) if shard_of(name) == "" and name != LAST]
    return sorted(names, key=lambda name: os.path.getmtime(os.path.join(folder, name)))
