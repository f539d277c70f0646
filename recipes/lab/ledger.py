"""The ledger of a recipe: one JSON line per run of an arm (trained, translated, scored).

A ledger is append-only, so that a table can be filled over days and on several machines. A run is
identified by the arm's name, its setting and its seed.
"""

import fcntl
import hashlib
import json
import os
import platform
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path

from recipes.lab.scores import scoring
from recipes.lab.settings import ROOT, UserError

ARM, TUNING = KINDS = ("arm", "tuning")
FIELDS = {"arm": str, "key": str, "seed": int, "figures": dict}  # that every line has
# Nanoseconds; a file that was changed in them may change again without a change of its time.
RECENT = 2 * 10**9
LAST_EPOCH = "last_epoch_seconds"
PACKAGES = ("torch", "numpy", "fairseq-fixed", "fairseq-outlayers", "sacrebleu")


def name_of(entry: dict) -> str:
    """ARM.seedN.KEY, which names what is stored of a line."""
    return f"{entry['arm']}.seed{entry['seed']}.{entry['key']}"


def setting_key(setting: dict) -> str:
    """A short hash of a setting, independent of the order of its entries."""
    canonical = json.dumps(setting, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def fingerprint(paths: list[Path]) -> str:
    """A short hash of names and contents of some files (not of their folder)."""
    digest = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        digest.update(path.name.encode() + b"\0")
        digest.update(_digest(path))
    return digest.hexdigest()[:12]


def words_fingerprint(dictionary: Path) -> str:
    """A short hash of the words of a dictionary, without their counts."""
    words = [line.rpartition(" ")[0] for line in scoring.read_lines(dictionary)]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


def _digest(path: Path) -> bytes:
    """A hash of a file's content, which is read once: every arm and seed asks for its corpus."""
    state = path.stat()
    if time.time_ns() - state.st_mtime_ns < RECENT:
        return _read_digest.__wrapped__(path.resolve(), state.st_size, state.st_mtime_ns)
    return _read_digest(path.resolve(), state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=256)
def _read_digest(path: Path, size: int, modified: int) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def read(ledger: Path) -> list[dict]:
    """All lines of a ledger in order; none if the file does not exist.

    Returns:
        The lines, with the ledger's folder added as "results".
    Raises:
        UserError: if a line is not a JSON object with the fields of a run, with the number of the
            line.
    """
    if not ledger.exists():
        return []
    entries = []
    try:
        lines = scoring.read_lines(ledger)
    except UnicodeDecodeError as error:
        raise UserError(f"{ledger}: not UTF-8 ({error}); fix it") from error
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise UserError(f"{ledger}:{number}: not JSON ({error}); fix or remove it") from error
        if not isinstance(entry, dict):
            raise UserError(f"{ledger}:{number}: not a JSON object; fix or remove it")
        for field, kind in FIELDS.items():
            if not isinstance(entry.get(field), kind):
                raise UserError(
                    f"{ledger}:{number}: {field} is {entry.get(field)!r}, not of type "
                    f"{kind.__name__}; fix or remove the line"
                )
        entries.append(_marked(entry) | {"results": str(ledger.parent)})
    return entries


def _marked(entry: dict) -> dict:
    """Rename the seconds of old lines, which are those of the last epoch, not the sum."""
    figures = entry.get("figures", {})
    if "train_seconds" not in figures or "train_seconds_epochs" in figures:
        return entry
    renamed = {LAST_EPOCH if k == "train_seconds" else k: v for k, v in figures.items()}
    return entry | {"figures": renamed}


def find(ledger: Path, arm: str, setting: dict, seed: int, kind: str = ARM) -> dict | None:
    """The newest line of an arm with this setting and seed, or None."""
    wanted = (arm, setting_key(setting), seed, kind)
    for entry in reversed(read(ledger)):
        if (entry["arm"], entry["key"], entry["seed"], kind_of(entry)) == wanted:
            return entry
    return None


def kind_of(entry: dict) -> str:
    """ "arm", or "tuning": a run for choosing a setting, scored by validation only."""
    return entry.get("kind", ARM)


def of_arms(entries: Sequence[dict]) -> list[dict]:
    """The lines of arms, without tuning runs."""
    return [entry for entry in entries if kind_of(entry) == ARM]


@contextmanager
def locked(folder: Path, wait: bool = True) -> Iterator[None]:
    """Hold a lock on a folder; it is released when the process ends.

    Raises:
        BlockingIOError: if another process holds it and `wait` is false.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


def append(ledger: Path, entry: dict) -> None:
    """Add one line atomically."""
    ledger = Path(os.path.realpath(ledger))  # a link to a file stays one
    with locked(ledger.parent):
        before = ledger.read_text(encoding="utf-8") if ledger.exists() else ""
        if before and not before.endswith("\n"):
            before += "\n"
        line = json.dumps(entry, ensure_ascii=False, sort_keys=True)
        temporary = ledger.parent / f".{ledger.name}.{secrets.token_hex(4)}"
        try:
            with open(temporary, "x", encoding="utf-8") as file:
                file.write(before + line + "\n")
                file.flush()
                os.fsync(file.fileno())
            if before:
                shutil.copymode(ledger, temporary)
            os.replace(temporary, ledger)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def commit() -> str:
    """The checked-out commit, with "+dirty" if files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        name = git("rev-parse", "--short=12", "HEAD")
        # The ledger itself is in results/ and changes with every arm.
        changes = git("status", "--porcelain", "--", ".", ":(exclude)results")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + ("+dirty" if changes else "")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that affect results."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    if found["fairseq-fixed"] == "not installed":
        with suppress(PackageNotFoundError):
            found["fairseq"] = version("fairseq")
    return found | _packages_of_parts()


def _packages_of_parts() -> dict[str, str]:
    """Versions of packages with parts of their own (CONTRIBUTING.md)."""
    every = entry_points()
    groups = [group for group in every.groups if group.startswith("fairseq_outlayers.")]
    points = [point for group in groups for point in every.select(group=group)]
    return {point.dist.name: point.dist.version for point in points if point.dist}


def machine() -> dict:
    """The machine: CPU model, usable cores, threads, GPU."""
    import torch  # slow to import

    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "cpu": model,
        "cores": len(usable) if usable is not None else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": gpu,
    }
