"""What the ledger of this recipe holds, by setting, number of pairs and kind of vectors."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import comparison
import ledger
from comparison import Row
from recorded_runs import Runs

SETTINGS = ("baseline", "only_external", "mix_sum", "mix_gate")


@dataclass(frozen=True)
class Arm:
    """What the name of an arm says: ``mix_sum.1000.captions``."""

    setting: str
    size: str
    vectors: str = ""

    @classmethod
    def of(cls, name: str) -> "Arm":
        return cls(*name.split("."))

    def __str__(self) -> str:
        return ".".join(filter(None, (self.setting, self.size, self.vectors)))


@dataclass
class Results:
    """The rows of a ledger by arm; the newest where an arm was run with several settings."""

    rows: dict[Arm, Row]
    runs: Runs

    @classmethod
    def read(cls, path: Path) -> "Results":
        entries = ledger.read(path)
        rows = {Arm.of(row.arm): row for row in comparison.rows_of(entries)}
        plain = all("bleu" in entry["figures"] for entry in entries)
        return cls(rows, Runs(entries, "plain" if plain else "tokenised"))

    @property
    def sizes(self) -> list[str]:
        """From the smallest to the largest."""
        found = {arm.size for arm in self.rows}
        return sorted(found, key=lambda size: float("inf") if size == "all" else int(size))

    @property
    def kinds(self) -> list[str]:
        """Kinds of vectors, in-domain ones first."""
        found = {arm.vectors for arm in self.rows} - {""}
        return sorted(found, key=lambda kind: (kind != "captions", kind))

    def bleu(self, arm: Arm) -> dict[int, float]:
        """By seed; none if the arm was not run."""
        row = self.rows.get(arm)
        figures = {seed: e["figures"] for seed, e in row.entries.items()} if row else {}
        return {seed: f.get("bleu", f["bleu_tokenised"]) for seed, f in figures.items()}

    def unknown_symbols(self, arm: Arm) -> dict[int, int]:
        """Unknown symbols in the translations of each seed."""
        counts = {}
        for seed, entry in self.rows[arm].entries.items() if arm in self.rows else ():
            found = comparison.translations(entry, "tokenised")
            if found:
                counts[seed] = sum(line.split().count("<unk>") for line in found[0])
        return counts


def lines_of(results: Results) -> Iterator[tuple[str, list[Arm]]]:
    """A label and the arms by size, for the baseline and each setting with each kind of vectors."""
    yield "baseline", [Arm("baseline", size) for size in results.sizes]
    for vectors in results.kinds:
        for setting in SETTINGS[1:]:
            label = f"{setting}, {vectors}"
            yield label, [Arm(setting, size, vectors) for size in results.sizes]


def plot(results: Results, path: Path) -> bool:
    """Draw BLEU against the number of pairs; False if matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for label, arms in lines_of(results):
        values = [list(results.bleu(arm).values()) for arm in arms]
        points = [(n, sum(v) / len(v)) for n, v in enumerate(values) if v]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set_xticks(range(len(results.sizes)), results.sizes)
    axes.set_xlabel("sentence pairs")
    axes.set_ylabel("BLEU")
    axes.legend()
    figure.savefig(path, dpi=120)
    return True
