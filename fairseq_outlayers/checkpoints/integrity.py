"""Verify a checkpoint by the checksums stored in it.

``torch.save`` writes a zip file with a CRC-32 of every tensor, which ``torch.load`` does not
compare: a flipped bit or a zeroed block silently changes weights. Files in torch's format before
1.6 have no checksums and are not checked.
"""

import zipfile
from pathlib import Path
from typing import List, Optional

from fairseq_outlayers.checkpoints.names import shard_of
from fairseq_outlayers.errors import UserError

CHUNK = 1 << 20  # bytes


def require_whole(path: str) -> None:
    """Compare every checksum in a checkpoint; 0.7 s of CPU time per GB, as long as loading takes
    (``benchmarks/checkpoint_checksums.py``).

    Raises:
        UserError: if it is damaged; the message names the newest whole checkpoint of its folder.
    """
    found = find_damage(path)
    if found is not None:
        raise UserError(f"{path} is damaged: {found}. {recovery_hint(path)}")


def find_damage(path: str) -> Optional[str]:
    """Describe the damage of a checkpoint; None if it is whole or has no checksums."""
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                return None
            with zipfile.ZipFile(file) as archive:
                return _first_damaged(archive)
    except OSError as error:
        return f"it cannot be read ({error.strerror or error})"
    except Exception:  # a damaged zip directory can raise anything
        return "its table of contents is cut short or changed"


def _first_damaged(archive: zipfile.ZipFile) -> Optional[str]:
    for entry in archive.infolist():
        # torch.save never compresses; a small compressed entry may expand beyond memory.
        if entry.compress_type != zipfile.ZIP_STORED:
            return f"{entry.filename!r} in it is compressed, which fairseq never does"
        try:
            with archive.open(entry) as part:
                while part.read(CHUNK):
                    pass
        except OSError:
            raise
        except Exception:  # a wrong checksum, or a header that does not match
            return f"{entry.filename!r} in it is not what was saved"
    return None


def recovery_hint(path: str) -> str:
    """A sentence that names the newest whole checkpoint beside a damaged one."""
    other = newest_whole_beside(path)
    if other is None:
        return "There is no other whole checkpoint in its folder."
    return (
        f"The newest whole checkpoint in its folder is {other}: use that one "
        f"(fairseq-train: --restore-file {other}; nothing has been overwritten)."
    )


def newest_whole_beside(path: str) -> Optional[str]:
    """The newest other checkpoint of the folder whose checksums match.

    Only fairseq's names, of the same shard: another ``*.pt`` may be of another model.
    """
    damaged = Path(path)
    others: List[Path] = [
        other
        for other in damaged.parent.glob("*.pt")
        if shard_of(other.name) == (shard_of(damaged.name) or "")
        # Skip hard links to the same file.
        and other.is_file()
        and not (damaged.exists() and other.samefile(damaged))
    ]
    for other in sorted(others, key=lambda file: file.stat().st_mtime, reverse=True):
        if zipfile.is_zipfile(other) and find_damage(str(other)) is None:
            return str(other)
    return None
