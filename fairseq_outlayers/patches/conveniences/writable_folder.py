"""Report an unusable ``--save-dir`` in one line, before training begins.

``verify_checkpoint_directory`` (fairseq/checkpoint_utils.py) raises FileExistsError if the path is
a file and PermissionError if the folder is read-only, and leaves its file ``dummy`` behind on a
full disk.
"""

from typing import Any, Callable

from fairseq import checkpoint_utils

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(checkpoint_utils, "verify_checkpoint_directory")
def _name_folder(stock: Callable[..., Any], save_dir: str) -> Any:
    try:
        return stock(save_dir)
    except OSError as error:
        raise UserError(
            f"--save-dir {save_dir}: {error.strerror}; choose a writable folder"
        ) from error
