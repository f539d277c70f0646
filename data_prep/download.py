"""Download a data set, verify its checksums and write the decompressed files.

Files come from a local mirror (--from DIR, or the environment variable OUTLAYERS_DATA) or from
their public address. Existing files with the right checksum are skipped.
"""

import argparse
import gzip
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Sequence
from pathlib import Path

from lib.common import CommandParser, progress, run
from lib.data_sets import DATA_SETS, RemoteFile

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.output_file import write_together

EXAMPLE = """example:
  python data_prep/download.py multi30k --out data/multi30k

a mirror holds multi30k/train.en.gz ..., mono/captions.1.en.gz ..., ptb/ptb.train.txt.gz ...:
  python data_prep/download.py ptb --out data/ptb --from ~/mirror
"""
TIMEOUT_SECONDS = 30
ATTEMPTS = 3


def sha256(data: bytes) -> str:
    """Checksum in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def download(url: str) -> bytes:
    """Download a file; raises UserError after three attempts, or at once if it does not exist."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            reason = f"HTTP status {error.code} ({error.reason})"
            if error.code in (404, 410):
                break
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", error))
        if attempt < ATTEMPTS:
            time.sleep(attempt)
    raise UserError(
        f"{url}: download failed after attempt {attempt}: {reason}; try again later, or "
        "give a local mirror with --from DIR"
    )


def read_mirror(mirror: Path, file: RemoteFile) -> tuple[Path, bytes]:
    """Path and content of a file in a local mirror, compressed or plain."""
    for path in (mirror / f"{file.mirror}.gz", mirror / file.mirror):
        if path.is_file():
            return path, path.read_bytes()
    raise UserError(
        f"{mirror / file.mirror}.gz: no such file in the mirror; check --from or OUTLAYERS_DATA, "
        "or leave both out to download"
    )


def fetch(file: RemoteFile, mirror: Path | None) -> bytes:
    """The decompressed, verified content of a file.

    Raises:
        UserError: if it is unavailable, damaged, or has another checksum.
    """
    if mirror is None:
        source, data = file.url, download(file.url)
    else:
        path, data = read_mirror(mirror, file)
        source = str(path)
    if source.endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{source}: damaged gzip file: {error}; fetch it again") from None
    if sha256(data) != file.sha256:
        raise UserError(
            f"{source}: SHA-256 of the decompressed content is {sha256(data)}, expected "
            f"{file.sha256}; the file is damaged or another version: fetch it again"
        )
    return data


def is_present(path: Path, file: RemoteFile) -> bool:
    """Whether the file exists with the right checksum."""
    return path.is_file() and sha256(path.read_bytes()) == file.sha256


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("name", choices=DATA_SETS, metavar="NAME", help=", ".join(DATA_SETS))
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="output folder")
    parser.add_argument(
        "--from",
        dest="mirror",
        type=Path,
        metavar="DIR",
        default=os.environ.get("OUTLAYERS_DATA") or None,
        help="local mirror (default: $OUTLAYERS_DATA, if set)",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Download the data set."""
    options = parse_arguments(arguments)
    files = DATA_SETS[options.name]
    wanted = [file for file in files if not is_present(options.out / file.name, file)]
    bar = progress(wanted, len(wanted), "fetching", " files")
    # All checksums are verified before the first file is written.
    contents = {file.name: fetch(file, options.mirror) for file in bar}
    with write_together([options.out / name for name in contents]) as outputs:
        for output, content in zip(outputs, contents.values(), strict=True):
            output.write(content)
    lines = sum(output.lines for output in outputs)
    tokens = sum(output.tokens for output in outputs)
    print(
        f"wrote {len(outputs)} files of {options.name} to {options.out} "
        f"({lines:,} lines, {tokens:,} tokens; {len(files) - len(wanted)} existed)"
    )


if __name__ == "__main__":
    run(main)
