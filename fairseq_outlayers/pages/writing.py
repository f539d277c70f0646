"""Write a page to a file."""

import os
import tempfile
from pathlib import Path

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.pages.document import GENERATOR

HEAD_BYTES = 2000  # the generator is named among the first


def check_output(path: Path) -> None:
    """Make sure that a page may be written.

    Raises:
        UserError: if there is no such folder, or a file that is no page of ours.
    """
    if not path.parent.is_dir():
        raise UserError(f"--output {path}: there is no folder {path.parent}: create it first")
    if path.is_dir():
        raise UserError(f"--output {path}: a folder; give the name of a file in it")
    if path.exists():
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if head and f'name="generator" content="{GENERATOR}"'.encode() not in head:
            raise UserError(f"--output {path}: exists and is no page of this command; remove it")


def write_page(path: Path, page: str) -> int:
    """Write a page, whole or not at all, in the place of an older one.

    Returns:
        Its size in bytes.
    Raises:
        UserError: as :func:`check_output`.
    """
    check_output(path)
    # No text of a sentence can make this fail: a lone surrogate becomes a question mark.
    data = page.encode("utf-8", errors="replace")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return len(data)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
