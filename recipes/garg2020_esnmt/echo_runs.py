"""What claims and plots read: BLEU of resampled test sets, and curves from training logs."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import comparison
import ledger
import scoring
import training_log
from recorded_runs import Runs
from resampling import bleu_of, sentence_statistics

METRIC = scoring.bleu_metric(tokenised=True)


@dataclass
class Run:
    """One arm with one seed: sentence statistics for BLEU, source-side facts and the log."""

    arm: str
    seed: int
    statistics: np.ndarray  # (sentences, 10): matches of 4 orders, totals of 4, both lengths
    lengths: np.ndarray  # (sentences,) words of the reference
    folder: Path
    echo: dict[str, float] = field(default_factory=dict)  # last scales of frozen layers, by name

    def bleu(self, chosen: np.ndarray | None = None) -> float:
        """Corpus BLEU of all sentences or of a resampled or selected test set (their indices)."""
        rows = self.statistics if chosen is None else self.statistics[chosen]
        return bleu_of(rows.sum(axis=0).tolist(), METRIC)

    def curve(self, metric: str) -> tuple[list[float], list[float]]:
        """Updates and values of a metric over training; none if its log is not on this machine."""
        updates, values = [], []
        log = self.folder / "train.log"
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        for line in text.splitlines():
            found = training_log.parse_line(line)
            if found and found.tag == "train_inner" and metric in found.values:
                updates.append(found.values["num_updates"])
                values.append(found.values[metric])
        return updates, values

    def radii(self, side: str) -> list[float]:
        """The last radii of "encoder_forward", "encoder_backward" or "decoder", from the bottom.

        From the ledger; of older lines from the log, if it is on this machine.
        """
        radii: list[float] = []
        while (name := f"radius_{side}_{len(radii)}") in self.echo:
            radii.append(self.echo[name])
        while not self.echo and (values := self.curve(f"radius_{side}_{len(radii)}")[1]):
            radii.append(values[-1])
        return radii


def statistics_of(hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """Counts of every sentence, on tokens as they stand."""
    return sentence_statistics(hypotheses, references, METRIC)


def read_runs(path: Path) -> dict[str, list[Run]]:
    """The newest runs of every arm whose translations are on this machine, by arm and seed."""
    recorded = Runs(ledger.read(path), "tokenised")
    runs: dict[str, list[Run]] = {}
    for arm in sorted(recorded.arms):
        for seed in recorded.seeds([arm]):
            entry = recorded.entry(arm, seed)
            found = comparison.translations(entry, recorded.form)
            if found is None:
                print(f"  {arm}, seed {seed}: no translations on this machine", file=sys.stderr)
                continue
            hypotheses, references = found
            lengths = np.array([len(line.split()) for line in references])
            folder = ledger.ROOT / entry["run"]
            statistics = statistics_of(hypotheses, references)
            echo = entry["figures"].get("echo", {})
            run = Run(arm, seed, statistics, lengths, folder, echo)
            runs.setdefault(arm, []).append(run)
    return runs


def write(path: Path, text: str) -> None:
    """Write a text file and say so."""
    scoring.write_lines(path, text.rstrip("\n").split("\n"))
    print(path)
