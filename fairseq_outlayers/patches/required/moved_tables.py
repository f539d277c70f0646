"""Find tables of external vectors that have moved since the training.

A checkpoint contains the path of such a table, not its rows. If there is no file of that path,
``load_checkpoint_to_cpu`` (fairseq/checkpoint_utils.py) looks for one of its name beside the
checkpoint and in the data folder, so that every command and ``load`` find it. A table has a
checksum in the checkpoint, so another one of that name is refused.
"""

from pathlib import Path
from typing import Any, Callable

from fairseq import checkpoint_utils

from fairseq_outlayers.patches.replacing import replaces


@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _with_its_tables(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    # Imported here, because patches are applied before other parts are imported.
    from fairseq_outlayers.checkpoints.moved_tables import update_table_paths

    state = stock(path, *args, **kwargs)
    if isinstance(state, dict):
        update_table_paths(state, Path(path).parent)
    return state
