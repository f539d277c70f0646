"""Write checkpoints atomically.

``save_checkpoint`` (fairseq/checkpoint_utils.py) writes one file and copies it with
``PathManager.copy`` (fairseq/file_io.py) over ``checkpoint_best.pt`` and ``checkpoint_last.pt``.
The copy overwrites the old file: a kill or a full disk truncates the file that training resumes
from (fairseq issue 2684). ``torch_persistent_save`` writes the first file under a temporary name,
but renames it without fsync, appends to the failed attempt when it retries, and leaves the
temporary file on the full disk when it gives up.

The patch checks free space first (``free_space``), writes to a temporary name of its process,
fsyncs it and renames it over the old file. On failure it removes it, keeps the old file and reports
one line. Copies on the same file system are hard links, so a checkpoint of several gigabytes is
written once, not three times. This is safe because checkpoints are never written in place:
``os.replace`` changes what a name refers to, not the file. (Outside fairseq, ``cp other.pt
checkpoint_last.pt`` does write in place, into all names of the file: remove the old name first.)

Remote paths and ``--write-checkpoints-asynchronously`` are written as in stock fairseq.
"""

import contextlib
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
from fairseq_outlayers.patches.replacing import replaces

# As in stock, for network file systems.
ATTEMPTS = 3
SECONDS_BETWEEN_ATTEMPTS = 2.5


@replaces(PathManager, "copy")
def _atomic_copy(
    stock: Callable[..., bool], src_path: str, dst_path: str, overwrite: bool = False
) -> bool:
    if any(PathManager.path_requires_pathmanager(path) for path in (src_path, dst_path)):
        return stock(src_path, dst_path, overwrite)
    if os.path.exists(dst_path):
        if not overwrite:
            return False
        # Renaming between two hard links of a file does nothing.
        if os.path.samefile(src_path, dst_path):
            return True
    with _replacing(dst_path) as temporary:
        if not _link(src_path, temporary):
            require_room(dst_path, os.path.getsize(src_path))
            _copy(src_path, temporary)
    return True


@replaces(checkpoint_utils, "torch_persistent_save")
def _atomic_save(
    stock: Callable[..., Any], obj: Any, filename: str, async_write: bool = False
) -> None:
    if async_write or PathManager.path_requires_pathmanager(filename):
        _separate_from_links(filename)
        stock(obj, filename, async_write=async_write)
        return
    with _replacing(filename) as temporary:
        require_room(filename, size_of(obj))
        _save(obj, temporary)


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[str]:
    """Yield a temporary name; afterwards rename it to ``path``, or on failure remove it.

    Raises:
        UserError: for system errors such as a full disk; ``path`` is then unchanged.
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
            f"cannot write {path}: {reason.strerror or reason}. Earlier checkpoints are unchanged; "
            "free disk space and run the same command again to resume."
        ) from error


def temporary_name(path: str) -> str:
    """A name beside ``path`` that no other process uses.

    Not ".tmp": stock writes into files of that name, which may be a hard link to a good checkpoint
    left by a killed process.
    """
    return f"{path}.{socket.gethostname()}-{os.getpid()}{TEMPORARY_SUFFIX}"


def _remove_abandoned(path: str) -> None:
    """Remove unfinished saves of ``path`` by this process or by killed ones of this machine."""
    here = re.escape(socket.gethostname())
    pattern = re.compile(rf"{re.escape(os.path.basename(path))}(\.{here}-(\d+))?{TEMPORARY_SUFFIX}")
    folder = os.path.dirname(os.path.abspath(path))
    for name in os.listdir(folder):
        found = pattern.fullmatch(name)
        if found and not (found[2] and _runs(int(found[2]))):
            _remove(os.path.join(folder, name))


def _runs(process: int) -> bool:
    """Whether another process with this id exists."""
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
    """Hard-link ``path`` to ``source``; False if the file system does not allow it."""
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
    # Otherwise a power failure after the rename may leave an empty file.
    file.flush()
    os.fsync(file.fileno())


def _separate_from_links(path: str) -> None:
    """Remove a name of a file with several hard links, before stock writes in place."""
    if os.path.isfile(path) and os.stat(path).st_nlink > 1:
        os.remove(path)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def _system_error_in(error: Optional[BaseException]) -> Optional[OSError]:
    """The system error in the chain of ``error``; torch raises its own on top."""
    while error is not None and not isinstance(error, OSError):
        error = error.__cause__ or error.__context__
    return error
