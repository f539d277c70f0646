"""Write every checkpoint whole or not at all.

``save_checkpoint`` (fairseq/checkpoint_utils.py) writes one file and copies it with
``PathManager.copy`` (fairseq/file_io.py) over ``checkpoint_best.pt`` and ``checkpoint_last.pt``.
The copy writes into the old file: a kill or a full disk leaves it cut short, the very file that
training resumes from (reported as fairseq issue 2684). ``torch_persistent_save`` does write the
first file under a temporary name, but it renames it without waiting for the disk, its retries
append to what the failed try had written, and when it gives up the temporary file stays on the disk
that is full.

The patch first looks whether the disk has room (``free_space``), then writes to a temporary name of
its own process,
flushes it to the disk, renames it over the old file, and on failure removes it, keeps the old file
and says so in one line. Copies on the same file system are hard links, so that a checkpoint of
several gigabytes is written once, not three times. That is safe because a checkpoint is then never
written in place: ``os.replace`` gives a name another file and leaves the file itself alone.
(Outside fairseq, ``cp other.pt checkpoint_last.pt`` does write in place, into every name of the
file: remove the old name first.)

Remote paths and ``--write-checkpoints-asynchronously`` keep stock's way of writing.
"""

import contextlib
import functools
import os
import re
import shutil
import socket
import time
from typing import Any, Callable, Iterator, Optional

import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from fairseq_outlayers.checkpoints.folder_lock import TEMPORARY_SUFFIX
from fairseq_outlayers.checkpoints.free_space import require_room, size_of
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replace_once

# As in stock: a network file system may come back.
ATTEMPTS = 3
SECONDS_BETWEEN_ATTEMPTS = 2.5


def apply() -> None:
    """Replace the two functions that write checkpoints."""
    replace_once(PathManager, "copy", _atomic_copy)
    replace_once(checkpoint_utils, "torch_persistent_save", _atomic_save)


def _atomic_copy(stock: Callable[..., bool]) -> Callable[..., bool]:
    @functools.wraps(stock)
    def copy(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        if any(PathManager.path_requires_pathmanager(path) for path in (src_path, dst_path)):
            return stock(src_path, dst_path, overwrite)
        if os.path.exists(dst_path):
            if not overwrite:
                return False
            # Renaming one name of a file over another of its names does nothing.
            if os.path.samefile(src_path, dst_path):
                return True
        with _replacing(dst_path) as temporary:
            if not _link(src_path, temporary):
                require_room(dst_path, os.path.getsize(src_path))
                _copy(src_path, temporary)
        return True

    return copy


def _atomic_save(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def torch_persistent_save(obj: Any, filename: str, async_write: bool = False) -> None:
        if async_write or PathManager.path_requires_pathmanager(filename):
            _separate_from_links(filename)
            stock(obj, filename, async_write=async_write)
            return
        with _replacing(filename) as temporary:
            require_room(filename, size_of(obj))
            _save(obj, temporary)

    return torch_persistent_save


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[str]:
    """Yield a temporary name; afterwards rename it to ``path``, or on failure remove it.

    Raises:
        UserError: if the disk is full or the like; ``path`` is then as it was before.
    """
    _remove_abandoned(path)
    temporary = temporary_name(path)
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException as error:
        _remove(temporary)
        reason = _system_error_in(error) if isinstance(error, Exception) else None
        if reason is None:
            raise
        raise UserError(
            f"cannot write {path}: {reason.strerror or reason}. What was saved before is "
            "unchanged; make room there and start the same command again to resume from it."
        ) from error


def temporary_name(path: str) -> str:
    """A name beside ``path`` that no other process uses.

    Not ".tmp": stock writes into files of that name, and a link left over from a kill would hand it
    the inside of a good checkpoint to write into.
    """
    return f"{path}.{socket.gethostname()}-{os.getpid()}{TEMPORARY_SUFFIX}"


def _remove_abandoned(path: str) -> None:
    """Remove what this process, or killed ones of this machine, left of saves of ``path``."""
    here = re.escape(socket.gethostname())
    pattern = re.compile(rf"{re.escape(os.path.basename(path))}(\.{here}-(\d+))?{TEMPORARY_SUFFIX}")
    folder = os.path.dirname(os.path.abspath(path))
    for name in os.listdir(folder):
        found = pattern.fullmatch(name)
        if found and not (found[2] and _runs(int(found[2]))):
            _remove(os.path.join(folder, name))


def _runs(process: int) -> bool:
    """Whether another process of that number exists."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _save(obj: Any, path: str) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with open(path, "wb") as file:
                torch.save(obj, file)
                _flush_to_disk(file)
            return
        except (OSError, RuntimeError):
            if attempt == ATTEMPTS:
                raise
            time.sleep(SECONDS_BETWEEN_ATTEMPTS)


def _link(source: str, path: str) -> bool:
    """False on a file system without links, or if the two are not on the same one."""
    try:
        os.link(os.path.realpath(source), path)
    except OSError:
        return False
    return True


def _copy(source: str, path: str) -> None:
    with open(source, "rb") as reader, open(path, "xb") as writer:
        shutil.copyfileobj(reader, writer, length=1 << 20)
        _flush_to_disk(writer)


def _flush_to_disk(file: Any) -> None:
    # Otherwise a power failure after the rename may leave the new name with an empty file.
    file.flush()
    os.fsync(file.fileno())


def _separate_from_links(path: str) -> None:
    """Take the name off a file that has others, before stock writes into it in place."""
    if os.path.isfile(path) and os.stat(path).st_nlink > 1:
        os.remove(path)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def _system_error_in(error: Optional[BaseException]) -> Optional[OSError]:
    """The operating system's error behind ``error``: torch reports its own on top of it."""
    while error is not None and not isinstance(error, OSError):
        error = error.__cause__ or error.__context__
    return error
