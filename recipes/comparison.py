"""Turns the lines of a ledger into the rows of a table, and compares the rows.

A row is an arm with one setting; its seeds are the sample. Differences from the first row are
tested seed by seed with sacreBLEU's paired bootstrap, and put into an interval by the same means.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean, stdev

import numpy as np
from sacrebleu.significance import PairedTest

import scoring
from kept_translations import translations
from resampling import RESAMPLES, Interval, interval, resampled_bleu


@dataclass
class Row:
    """One arm with one setting: the newest ledger line of each seed."""

    label: str
    words: str
    key: str
    entries: dict[int, dict] = field(default_factory=dict)
    p_values: dict[int, float] = field(default_factory=dict)
    intervals: dict[int, Interval] = field(default_factory=dict)

    @property
    def arm(self) -> str:
        """Its name, which rows with different settings share."""
        return self.entries[min(self.entries)]["arm"]

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
    return sorted(rows.values(), key=lambda row: rank.get(row.arm, len(rank)))


def mean_and_deviation(values: Sequence[float], digits: int = 2) -> str:
    """``mean ± sample standard deviation``; the bare value if all agree, "-" if there is none."""
    if not values:
        return "-"
    text = f"{mean(values):,.{digits}f}"
    # Seeds do not change the number of parameters: "± 0" would only be noise.
    return text if len(set(values)) == 1 else f"{text} ± {stdev(values):,.{digits}f}"


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


def difference_intervals(
    baseline: Sequence[str],
    others: dict[str, Sequence[str]],
    references: Sequence[str],
    *,
    tokenised: bool,
    lowercase: bool = False,
) -> dict[str, Interval]:
    """Each system's difference in BLEU from the baseline, with its 95% interval."""
    metric = scoring.bleu_metric(tokenised, lowercase)

    def scores(hypotheses: Sequence[str]) -> tuple[float, np.ndarray]:
        whole = metric.corpus_score(list(hypotheses), [list(references)]).score
        return whole, resampled_bleu(hypotheses, references, metric)

    bleu, resampled = scores(baseline)
    found = {name: scores(hypotheses) for name, hypotheses in others.items()}
    return {
        name: interval(own_bleu - bleu, own - resampled) for name, (own_bleu, own) in found.items()
    }


def compare_with_first(rows: Sequence[Row]) -> list[str]:
    """Fill in `p_values` and `intervals` of every row but the first, seed by seed.

    Returns:
        What could not be compared, in words.
    """
    if len(rows) < 2:
        return []
    problems = []
    for seed, entry in sorted(rows[0].entries.items()):
        kind = "plain" if "bleu" in entry["figures"] else "tokenised"
        first = translations(entry, kind)
        if first is None:
            problems.append(f"{rows[0].label}, seed {seed}: no hypotheses on this machine")
            continue
        others, missing = _with_same_references(rows[1:], seed, kind, first[1])
        problems += missing
        if not others:
            continue
        lowercase = "case:lc" in entry["figures"].get("bleu_signature", "")
        form = {"tokenised": kind == "tokenised", "lowercase": lowercase}
        p_values = paired_bootstrap(first[0], others, first[1], **form)
        intervals = difference_intervals(first[0], others, first[1], **form)
        for row in rows[1:]:
            if row.label in others:
                row.p_values[seed] = p_values[row.label]
                row.intervals[seed] = intervals[row.label]
    return problems


def _with_same_references(
    rows: Sequence[Row], seed: int, kind: str, references: list[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Hypotheses by the row's label, and what is missing, in words."""
    others, missing = {}, []
    for row in rows:
        if seed not in row.entries:
            missing.append(f"{row.label}: no seed {seed} to compare")
            continue
        found = translations(row.entries[seed], kind)
        if found is None:
            missing.append(f"{row.label}, seed {seed}: no hypotheses on this machine")
        elif found[1] != references:
            missing.append(f"{row.label}, seed {seed}: other references than the first row")
        else:
            others[row.label] = found[0]
    return others, missing
