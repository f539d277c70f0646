"""The ledger of a recipe: one JSON line for every arm that was trained, translated and scored.

A ledger only grows, so that a table can be filled over days and on several machines. What an arm
*is* (its setting) decides whether it has been run already: the same name, setting and seed.
"""

import fcntl
import hashlib
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from recipes.lab.settings import ROOT, UserError

ARM, TUNING = KINDS = ("arm", "tuning")
LAST_EPOCH = "last_epoch_seconds"
PACKAGES = ("torch", "numpy", "fairseq-fixed", "fairseq-outlayers", "sacrebleu")


def setting_key(setting: dict) -> str:
    """A short name for a setting, the same whatever the order of its entries."""
    canonical = json.dumps(setting, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def fingerprint(paths: list[Path]) -> str:
    """A short name for the contents of some files (their names count, their folder does not)."""
    digest = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        digest.update(path.name.encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def read(ledger: Path) -> list[dict]:
    """Every line of a ledger, in the order of their arrival; none if there is no file yet.

    Returns:
        The lines as they stand, and under "results" the ledger's folder.
    Raises:
        UserError: if a line is not a JSON object, with the number of the line.
    """
    if not ledger.exists():
        return []
    entries = []
    for number, line in enumerate(ledger.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise UserError(f"{ledger}:{number}: not JSON ({error}); mend or remove it") from error
        if not isinstance(entry, dict):
            raise UserError(f"{ledger}:{number}: not a JSON object; mend or remove it")
        entries.append(_marked(entry) | {"results": str(ledger.parent)})
    return entries


def _marked(entry: dict) -> dict:
    """Lines from before the epochs were summed: their seconds are those of the last epoch."""
    figures = entry.get("figures", {})
    if "train_seconds" not in figures or "train_seconds_epochs" in figures:
        return entry
    renamed = {LAST_EPOCH if k == "train_seconds" else k: v for k, v in figures.items()}
    return entry | {"figures": renamed}


def find(ledger: Path, arm: str, setting: dict, seed: int, kind: str = ARM) -> dict | None:
    """The newest line of that arm with that setting and seed, or None if it was never run."""
    wanted = (arm, setting_key(setting), seed, kind)
    for entry in reversed(read(ledger)):
        if (entry["arm"], entry["key"], entry["seed"], kind_of(entry)) == wanted:
            return entry
    return None


def kind_of(entry: dict) -> str:
    """ "arm", or "tuning": a run that a setting was chosen by, scored in validation alone."""
    return entry.get("kind", ARM)


@contextmanager
def locked(folder: Path, wait: bool = True) -> Iterator[None]:
    """Hold a lock on a folder; it goes with the process, however that ends.

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
    """Add one line. Readers see the ledger before or after, never half a line."""
    with locked(ledger.parent):
        before = ledger.read_text(encoding="utf-8") if ledger.exists() else ""
        if before and not before.endswith("\n"):
            before += "\n"
        line = json.dumps(entry, ensure_ascii=False, sort_keys=True)
        handle, temporary = tempfile.mkstemp(dir=ledger.parent, prefix=f".{ledger.name}.")
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(before + line + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)  # mkstemp makes it private
            os.replace(temporary, ledger)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise


def commit() -> str:
    """The commit that is checked out, with "+dirty" where the files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        name = git("rev-parse", "--short=12", "HEAD")
        # The ledger itself lies in results/ and changes with every arm.
        changes = git("status", "--porcelain", "--", ".", ":(exclude)results")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + ("+dirty" if changes else "")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that decide a result."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def machine() -> dict:
    """The machine in words: CPU model, the cores this process may use, threads, GPU."""
    import torch  # slow to import, and only needed here

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
