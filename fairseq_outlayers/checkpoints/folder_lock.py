"""One training run at a time in a save folder.

The lock is one of the operating system's on ``training.lock``: it ends with the process, however
that ends, and is not handed on to workers of a data loader, so nothing stale can be left. The file
holds the process and host, for the message to whoever comes second. Lock files are not removed:
whoever waits for a removed one would lock what nobody else sees.
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

# By process too: a forked child has the table and not the locks.
_held: Dict[Tuple[int, str], Any] = {}


def acquire(folder: str) -> None:
    """Lock a folder until this process ends, and remove what killed runs left of their saves.

    A file system without locks is used unlocked, with a warning.

    Raises:
        UserError: if another process has it; the message names that process and its host.
    """
    key = os.getpid(), os.path.realpath(folder)
    if key in _held:
        return
    path = os.path.join(folder, NAME)
    try:
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - held as long as the process lives
    except OSError as error:
        raise UserError(f"--save-dir {folder}: cannot write there: {error.strerror}") from error
    if _lock(file, folder):
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        _remove_unfinished(folder)
    _held[key] = file


def _lock(file: Any, folder: str) -> bool:
    try:
        # POSIX locks: of the process, not of the open file, which forked workers would share.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        file.seek(0)
        holder = file.read().strip() or "another process"
        raise UserError(
            f"--save-dir {folder}: {holder} is training into it, and two runs in one folder would "
            "destroy each other's checkpoints: choose another folder, or end that run first"
        ) from error
    except OSError as error:
        logger.warning(
            f"{folder} cannot be locked ({error.strerror}): see that no other run uses it"
        )
        return False
    return True


def _remove_unfinished(folder: str) -> None:
    for left in Path(folder).glob(f"*{TEMPORARY_SUFFIX}"):
        left.unlink(missing_ok=True)
