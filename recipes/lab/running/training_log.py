"""Parser of the log of `fairseq-train --log-format json`.

Statistics are lines like ``2026-01-31 10:00:00 | INFO | train | {"epoch": 1, ...}`` with numbers as
strings. The log of a resumed run may contain an epoch twice; the later one is used.
"""

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

STATISTICS = re.compile(r"\| (?P<tag>train|train_inner|valid) \| (?P<json>\{.*\})\s*$")
PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+)")
FINISHED = re.compile(r"done training in ([\d.]+) seconds")
ECHO = ("radius_", "gamma_", "saturation_")  # of frozen layers


class Statistics(NamedTuple):
    """One line of numbers: `tag` is train_inner (within an epoch), train (an epoch) or valid."""

    tag: str
    values: dict[str, float]


def statistics_of(log: Path) -> list[Statistics]:
    """The numbers of all lines of a log that have some, in order."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [found for line in lines if (found := parse_line(line))]


def parse_line(line: str) -> Statistics | None:
    """The numbers in a line of the log, or None if it has none or is truncated."""
    match = STATISTICS.search(line)
    if match is None:
        return None
    try:
        raw = json.loads(match["json"])
    except json.JSONDecodeError:
        return None
    values = {}
    for name, value in raw.items():
        try:
            values[name] = float(value)
        except (TypeError, ValueError):
            continue  # a few statistics are not numbers
    return Statistics(match["tag"], values)


@dataclass
class _Log:
    """What the lines of a log say.

    Attributes:
        epochs: statistics of training, by epoch.
        validations: epoch and perplexity of each; 0 and NaN if the line has none.
        echo: the last statistics of frozen layers.
        parameters: of the model.
        attempts: how often the training was started.
        finished: whether the last attempt came to its end.
    """

    epochs: dict[int, dict[str, float]] = field(default_factory=dict)
    validations: list[tuple[int, float]] = field(default_factory=list)
    echo: dict[str, float] = field(default_factory=dict)
    parameters: int | None = None
    attempts: int = 0
    finished: bool = False

    def add(self, line: str) -> None:
        """Read the next line."""
        if found := PARAMETERS.search(line):
            self.parameters = int(found[1].replace(",", ""))
            self.attempts += 1
            self.finished = False
        elif FINISHED.search(line):
            self.finished = True
        elif statistics := parse_line(line):
            self._add_statistics(*statistics)

    def _add_statistics(self, tag: str, values: dict[str, float]) -> None:
        if tag == "train_inner":
            self.echo |= {name: v for name, v in values.items() if name.startswith(ECHO)}
        elif tag == "train":
            self.epochs[int(values["epoch"])] = values
        elif tag == "valid":
            epoch = int(values.get("epoch", 0))
            self.validations.append((epoch, values.get("valid_ppl", math.nan)))


def summarize(path: Path) -> dict:
    """The figures of a training run.

    Returns:
        parameters: of the whole model; tied ones count once.
        train_tokens_per_second: target tokens (including end of sentence), median over epochs.
        train_seconds: in training steps, summed over the epochs of all attempts; an epoch that was
            repeated after an interruption counts once. fairseq resets ``train_train_wall`` in every
            epoch and rounds it.
        train_seconds_epochs: number of epochs in the sum; lines without it have the last epoch's.
        sampled_share: share of the classes scored in training, mean over epochs; None if all.
        echo: the last radius, input scale and saturation of every frozen layer, by name; missing
            without frozen layers.
        history: number, updates and seconds so far, and validation perplexity of every epoch.
        epochs, updates, best_valid_ppl, attempts (1 unless the run was resumed), finished.
        A figure that is not in the log is None.
    """
    read = _Log()
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            read.add(line)
    epochs = read.epochs
    speeds, shares, seconds = (
        [values[name] for values in epochs.values() if name in values]
        for name in ("train_wps", "train_sampled_share", "train_train_wall")
    )
    known = [value for _, value in read.validations if not math.isnan(value)]
    last = epochs[max(epochs)] if epochs else {}
    updates = last.get("train_num_updates")
    history = _history(epochs, dict(read.validations))
    return {
        "parameters": read.parameters,
        "train_tokens_per_second": median(speeds) if speeds else None,
        "train_seconds": sum(seconds) if seconds else None,
        "train_seconds_epochs": len(seconds),
        "sampled_share": mean(shares) if shares else None,
        "epochs": max(epochs) if epochs else 0,
        "updates": int(updates) if updates is not None else None,
        "best_valid_ppl": min(known) if known else None,
        "attempts": read.attempts,
        "finished": read.finished,
        **({"echo": read.echo} if read.echo else {}),
        **({"history": history} if history else {}),
    }


def _history(epochs: dict[int, dict[str, float]], validated: dict[int, float]) -> list[dict]:
    """The history of epochs with a validation."""
    found, seconds = [], 0.0
    for epoch, values in sorted(epochs.items()):
        seconds += values.get("train_train_wall", math.nan)
        perplexity = validated.get(epoch, math.nan)
        facts = {"updates": values.get("train_num_updates"), "seconds": seconds,
                 "valid_ppl": perplexity}  # fmt: skip
        if not any(value is None or math.isnan(value) for value in facts.values()):
            found.append({"epoch": epoch, **facts, "updates": int(facts["updates"] or 0)})
    return found
