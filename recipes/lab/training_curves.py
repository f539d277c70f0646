"""Validation perplexity over training, for figures: of each run's ledger line, or kept beside it.

New lines have it (``history``). Of older ones it is read from the training log where that is on
this machine, and kept in ``training_curves.json``, by ARM.seedN.KEY.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from recipes.lab import ledger, scoring, training_log
from recipes.lab.ledger import LAST_EPOCH

FILE = "training_curves.json"


def name_of(entry: dict) -> str:
    """By which a line's curve is kept."""
    return f"{entry['arm']}.seed{entry['seed']}.{entry['key']}"


def read(folder: Path) -> dict[str, list[dict]]:
    """What is kept beside a ledger."""
    file = folder / FILE
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def keep(entries: Sequence[dict], folder: Path, checkouts: Sequence[Path]) -> int:
    """Keep the curves of lines that have none, from logs below any of the checkouts.

    Returns:
        How many were added.
    """
    found, added = read(folder), 0
    for entry in entries:
        name = name_of(entry)
        # A decoding has no training of its own.
        if "history" in entry["figures"] or "epochs" not in entry["figures"] or name in found:
            continue
        logs = (checkout / entry["run"] / "train.log" for checkout in checkouts)
        log = next((log for log in logs if log.exists()), None)
        if log and (history := training_log.summarise(log).get("history")):
            found[name] = history
            added += 1
    if added:
        scoring.write_json(folder / FILE, found)
    return added


def of(entry: dict) -> list[dict]:
    """Epoch by epoch: ``epoch``, ``updates``, ``seconds`` of training so far, ``valid_ppl``."""
    history = entry["figures"].get("history")
    folder = Path(entry.get("results", ledger.ROOT / "nowhere"))
    return history or read(folder).get(name_of(entry), [])


def minutes(entry: dict) -> float | None:
    """How long a run was trained; None where the line does not say.

    Steps alone, summed over epochs. Older lines have the last epoch's seconds, so of them it is the
    time of the whole command, validation included, if it was not interrupted.
    """
    figures = entry["figures"]
    if LAST_EPOCH not in figures and figures.get("train_seconds"):
        return figures["train_seconds"] / 60
    if figures.get("attempts", 1) == 1 and figures.get("train_wall_seconds"):
        return figures["train_wall_seconds"] / 60
    return None
