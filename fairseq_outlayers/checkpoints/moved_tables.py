"""Tables of external vectors that have moved since the training."""

import os
from pathlib import Path
from typing import Any, Dict

from omegaconf import OmegaConf, open_dict

from fairseq_outlayers.checkpoints.stored_options import first_folder

TABLES = ("external_embeddings", "external_classes")


def update_table_paths(state: Dict[str, Any], folder: Path) -> None:
    """Change the paths of tables that are not there, but in one of two folders.

    Args:
        state: of a checkpoint; its data folder is the second one.
        folder: of the checkpoint.
    """
    cfg = state.get("cfg")
    model, task = (getattr(cfg, part, None) for part in ("model", "task"))
    data = first_folder(getattr(task, "data", ""))
    for option in TABLES:
        stored = getattr(model, option, None)
        # Unlike Path.is_file, os.path.isfile is False in a folder that may not be searched.
        if not isinstance(stored, str) or not stored or os.path.isfile(stored):
            continue
        moved = [place / Path(stored).name for place in (folder, data)]
        found = list(filter(os.path.isfile, moved))
        if found and OmegaConf.is_config(model):
            with open_dict(model):
                setattr(model, option, str(found[0]))
        elif found:  # a model without a dataclass has a namespace
            setattr(model, option, str(found[0]))
