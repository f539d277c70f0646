"""One training run at a time in a save folder.

A POSIX lock on ``training.lock``: it ends with the process, however that ends, and data loader
workers do not inherit it, so no stale lock remains. The file names the process and host, for the
second run's error message. Lock files are not removed: a process waiting for a removed file would
lock one that no other process sees.
"""

import fcntl
import logging
import os
import socket
from pathlib import Path
from typing import Any, Dict, Tuple

from fairseq_outlayers.errors import UserError

logger = logging.getLogger(__name__)

NAME = "training.lock"
TEMPORARY_SUFFIX = ".unfinished"

# Keyed by process, too: a forked child inherits the dict but not the locks.
_held: Dict[Tuple[int, str], Any] = {}


def acquire(folder: str) -> None:
    """Lock a folder until this process ends, and remove unfinished saves of killed runs.

    A file system without locks is used unlocked, with a warning.

    Raises:
        UserError: if another process holds the lock; the message names its id and host.
    """
    key = os.getpid(), os.path.realpath(folder)
    if key in _held:
        return
    path = os.path.join(folder, NAME)
    try:
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    except OSError as error:
        others = "; it is another user's: remove it if no run uses the folder"
        hint = others if isinstance(error, PermissionError) and os.path.exists(path) else ""
        raise UserError(
            f"--save-dir {folder}: cannot write {path}: {error.strerror}{hint}"
        ) from error
    if _lock(file, folder):
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        _remove_unfinished(folder)
    _held[key] = file


def _lock(file: Any, folder: str) -> bool:
    try:
        # POSIX locks belong to the process, not to the open file, which forked workers share.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        file.seek(0)
        holder = file.read().strip() or "another process"
        raise UserError(
            f"--save-dir {folder}: {holder} is training into it, and two runs in one folder would "
            "overwrite each other's checkpoints: choose another folder, or stop that run first"
        ) from error
    except OSError as error:
        logger.warning(
            f"{folder} cannot be locked ({error.strerror}): make sure that no other run uses it"
        )
        return False
    return True


def _remove_unfinished(folder: str) -> None:
    for left in Path(folder).glob(f"*{TEMPORARY_SUFFIX}"):
        left.unlink(missing_ok=True)
