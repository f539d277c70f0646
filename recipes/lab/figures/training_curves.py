"""Validation perplexity over training, for figures.

New ledger lines contain it (``history``). For older ones it is read from the training log, if that
is on this machine, and stored in ``training_curves.json``, by ARM.seedN.KEY.
"""

from collections.abc import Sequence
from pathlib import Path

from recipes.lab import ledger
from recipes.lab.ledger import LAST_EPOCH, name_of
from recipes.lab.running import training_log
from recipes.lab.scores import scoring

FILE = "training_curves.json"


def read(folder: Path) -> dict[str, list[dict]]:
    """The stored curves of a ledger."""
    return scoring.read_json(folder / FILE)


def keep(entries: Sequence[dict], folder: Path, checkouts: Sequence[Path]) -> int:
    """Store the curves of lines without one, from logs in any of the checkouts.

    Returns:
        The number of added curves.
    """
    found, added = read(folder), 0
    for entry in entries:
        name = name_of(entry)
        # Decodings are not trained.
        if "history" in entry["figures"] or "epochs" not in entry["figures"] or name in found:
            continue
        logs = (checkout / entry["run"] / "train.log" for checkout in checkouts)
        log = next((log for log in logs if log.exists()), None)
        if log and (history := training_log.summarize(log).get("history")):
            found[name] = history
            added += 1
    if added:
        scoring.write_json(folder / FILE, found)
    return added


def of(entry: dict) -> list[dict]:
    """For each epoch ``epoch``, ``updates``, ``seconds`` of training so far, ``valid_ppl``."""
    history = entry["figures"].get("history")
    folder = Path(entry.get("results", ledger.ROOT / "nowhere"))
    return history or read(folder).get(name_of(entry), [])


def minutes(entry: dict) -> float | None:
    """Training time of a run; None if unknown.

    The time in training steps, summed over epochs. Older lines have only that of the last epoch;
    for them it is the time of the whole command, including validation, if it was not interrupted.
    """
    figures = entry["figures"]
    if LAST_EPOCH not in figures and figures.get("train_seconds"):
        return figures["train_seconds"] / 60
    if figures.get("attempts", 1) == 1 and figures.get("train_wall_seconds"):
        return figures["train_wall_seconds"] / 60
    return None
