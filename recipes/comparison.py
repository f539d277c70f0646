"""Turns the lines of a ledger into the rows of a table, and compares the rows.

A row is an arm with one setting; its seeds are the sample. Differences from the first row are
tested seed by seed with sacreBLEU's paired bootstrap.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev

from sacrebleu.significance import PairedTest

import ledger
import scoring

RESAMPLES = 1000


@dataclass
class Row:
    """One arm with one setting: the newest ledger line of each seed."""

    label: str
    words: str
    key: str
    entries: dict[int, dict] = field(default_factory=dict)
    p_values: dict[int, float] = field(default_factory=dict)

    def values(self, figure: str) -> list[float]:
        """One figure of every seed that has it."""
        found = (self.entries[seed]["figures"].get(figure) for seed in sorted(self.entries))
        return [value for value in found if value is not None]


def rows_of(entries: Sequence[dict], order: Sequence[str] = ()) -> list[Row]:
    """Group ledger lines into rows.

    Args:
        order: names of arms; rows come in this order, arms not named after them as they appear.
    """
    rows: dict[tuple[str, str], Row] = {}
    for entry in entries:
        identity = (entry["arm"], entry["key"])
        row = rows.setdefault(identity, Row(entry["arm"], entry.get("words", ""), entry["key"]))
        row.entries[entry["seed"]] = entry
    names = [name for name, _ in rows]
    for (name, key), row in rows.items():
        if names.count(name) > 1:
            row.label = f"{name} [{key[:6]}]"
    rank = {name: number for number, name in enumerate(order)}
    return sorted(rows.values(), key=lambda row: rank.get(row.entries[min(row.entries)]["arm"], 99))


def mean_and_deviation(values: Sequence[float], digits: int = 2) -> str:
    """``mean ± sample standard deviation``; the bare value if all agree, "-" if there is none."""
    if not values:
        return "-"
    text = f"{mean(values):,.{digits}f}"
    # Seeds do not change the number of parameters: "± 0" would only be noise.
    return text if len(set(values)) == 1 else f"{text} ± {stdev(values):,.{digits}f}"


def translations(entry: dict, kind: str) -> tuple[list[str], list[str]] | None:
    """Hypotheses and references kept by a run, or None if its folder is not on this machine.

    Raises:
        ValueError: if there are not as many hypotheses as the ledger line says.
    """
    folder = ledger.ROOT / entry["run"]
    paths = [Path(folder) / f"test.{kind}.{name}" for name in ("hyp", "ref")]
    if not all(path.exists() for path in paths):
        return None
    hypotheses, references = (scoring.read_lines(path) for path in paths)
    expected = entry["figures"]["sentences"]
    if not len(hypotheses) == len(references) == expected:
        raise ValueError(
            f"{paths[0]} has {len(hypotheses)} lines and {paths[1].name} {len(references)}, "
            f"but the ledger says {expected} sentences; run the arm again with FORCE=1"
        )
    return hypotheses, references


def paired_bootstrap(
    baseline: Sequence[str],
    others: dict[str, Sequence[str]],
    references: Sequence[str],
    *,
    tokenised: bool,
    lowercase: bool = False,
) -> dict[str, float]:
    """The p-value of each system's difference in BLEU from the baseline (two-sided).

    The figures are those of ``sacrebleu --paired-bs`` with 1,000 resamples, except that equal BLEU
    always has p = 1.
    """
    systems = [("baseline", list(baseline))]
    systems += [(name, list(lines)) for name, lines in others.items()]
    test = PairedTest(
        systems,
        {"BLEU": scoring.bleu_metric(tokenised, lowercase)},
        [list(references)],
        test_type="bs",
        n_samples=RESAMPLES,
    )
    results = test()[1]["BLEU"]
    return {
        # Where no resample differs either, sacreBLEU counts equal systems as the surest difference.
        name: 1.0 if results[number].score == results[0].score else results[number].p_value
        for number, name in enumerate(others, start=1)
    }


def compare_with_first(rows: Sequence[Row]) -> list[str]:
    """Fill in `p_values` of every row but the first, seed by seed.

    Returns:
        What could not be compared, in words.
    """
    if len(rows) < 2:
        return []
    problems = []
    for seed, entry in sorted(rows[0].entries.items()):
        figures = entry["figures"]
        kind = "plain" if "bleu" in figures else "tokenised"
        first = translations(entry, kind)
        if first is None:
            problems.append(f"{rows[0].label}, seed {seed}: no hypotheses on this machine")
            continue
        others = {}
        for row in rows[1:]:
            if seed not in row.entries:
                problems.append(f"{row.label}: no seed {seed} to compare")
                continue
            found = translations(row.entries[seed], kind)
            if found is None:
                problems.append(f"{row.label}, seed {seed}: no hypotheses on this machine")
            elif found[1] != first[1]:
                problems.append(f"{row.label}, seed {seed}: other references than the first row")
            else:
                others[row.label] = found[0]
        if others:
            lowercase = "case:lc" in figures.get("bleu_signature", "")
            p_values = paired_bootstrap(
                first[0], others, first[1], tokenised=kind == "tokenised", lowercase=lowercase
            )
            for row in rows[1:]:
                if row.label in p_values:
                    row.p_values[seed] = p_values[row.label]
    return problems
