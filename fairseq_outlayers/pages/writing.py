"""Write a page to a file."""

import os
from pathlib import Path

from fairseq_outlayers.errors import UserError, require_writable
from fairseq_outlayers.formats.output_file import write_together
from fairseq_outlayers.pages.document import GENERATOR

HEAD_BYTES = 2000  # contain the generator's name


def check_output(path: Path) -> None:
    """Check that a page may be written.

    Raises:
        UserError: if the folder does not exist or is not writable, or the file exists and is not
            a page of ours.
    """
    if not path.parent.is_dir():
        raise UserError(f"--output {path}: no folder {path.parent}; create it first")
    if path.is_dir():
        raise UserError(f"--output {path}: is a folder; name a file")
    if path.exists() and not path.is_file():
        raise UserError(f"--output {path}: is not a regular file; name another")
    if path.exists():
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if head and f'name="generator" content="{GENERATOR}"'.encode() not in head:
            raise UserError(
                f"--output {path}: exists and is not a page of this command; remove it first"
            )
    require_writable(path, Path(os.path.realpath(path)).parent)  # of the page a link leads to


def write_page(path: Path, page: str) -> int:
    """Write a page atomically, replacing an older one.

    Returns:
        Its size in bytes.
    Raises:
        UserError: as :func:`check_output`.
    """
    check_output(path)
    # Lone surrogates become question marks instead of errors.
    data = page.encode("utf-8", errors="replace")
    with write_together([path]) as (output,):
        output.write(data)
    return len(data)
