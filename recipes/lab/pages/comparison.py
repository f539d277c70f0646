"""Differences in BLEU from the first row of a table, tested."""

import logging
from collections.abc import Sequence

from recipes.lab.runs import Runs
from recipes.lab.scores import scoring
from recipes.lab.scores.resampling import RESAMPLES, Estimate


class Comparison:
    """Differences in BLEU from the first row, where both translations are available.

    Attributes:
        differences: by row, over common seeds.
        unpaired: the same with unpaired seeds.
        p_values: by row and seed, of sacreBLEU's paired bootstrap.
        problems: messages about rows that could not be compared.
    """

    def __init__(self, runs: Runs):
        self.differences: dict[str, Estimate] = {}
        self.unpaired: dict[str, Estimate] = {}
        self.p_values: dict[str, dict[int, float]] = {}
        self.problems: list[str] = []
        # The first row may have several settings: each row is compared with a matching one.
        name = runs.entry(runs.arms[0])["arm"]
        firsts = [row for row in runs.arms if runs.entry(row)["arm"] == name]
        others: dict[str, list[str]] = {first: [] for first in firsts}
        for row in runs.arms:
            first = matching(runs, row, firsts)
            if first is None:
                self.problems.append(f"{row}: trained or decoded otherwise than the first row")
            elif row not in firsts:
                others[first].append(row)
        for first, rows in others.items():
            for seed in runs.seeds([first]) if rows else ():
                self._test(runs, first, rows, seed)
            for row in rows:
                if row in self.p_values:
                    self.differences[row] = runs.difference({row: 1, first: -1})
                    self.unpaired[row] = runs.unpaired_difference({row: 1, first: -1})

    def _test(self, runs: Runs, first: str, others: Sequence[str], seed: int) -> None:
        figures, form = runs.entry(first, seed)["figures"], runs.form_of(first, seed)
        texts = runs.translations(first, form, seed)
        if texts is None:
            self.problems.append(f"{first}, seed {seed}: no hypotheses on this machine")
            return
        found = {}
        for row in others:
            if seed not in runs.seeds([row]):
                self.problems.append(f"{row}: no seed {seed} to compare")
            elif (own := runs.translations(row, form, seed)) is None:
                self.problems.append(f"{row}, seed {seed}: no hypotheses on this machine")
            elif own[1] != texts[1]:
                self.problems.append(f"{row}, seed {seed}: other references than the first row")
            else:
                found[row] = own[0]
        lowercase = "case:lc" in figures.get("bleu_signature", "")
        p_values = paired_bootstrap(*texts, found, form == "tokenised", lowercase)
        for row, p_value in p_values.items():
            self.p_values.setdefault(row, {})[seed] = p_value


def matching(runs: Runs, row: str, firsts: Sequence[str]) -> str | None:
    """The setting of the first row that a row is compared with; None if there is none.

    Of those with its schedule, the newest one that had begun when the row was run: one repeated
    since then is compared with rows repeated with it.
    """
    alike = [first for first in firsts if runs.schedule(first) == runs.schedule(row)]
    last = max(_dates(runs, row))
    begun = [first for first in alike if min(_dates(runs, first)) <= last]
    return (begun or alike[:1] or [None])[-1]


def _dates(runs: Runs, row: str) -> list[str]:
    return [entry.get("date", "") for entry in runs.entries(row)]


def paired_bootstrap(
    baseline: Sequence[str],
    references: Sequence[str],
    others: dict[str, Sequence[str]],
    tokenised: bool,
    lowercase: bool = False,
) -> dict[str, float]:
    """The p-value of each system's difference in BLEU from the baseline (two-sided).

    The figures are those of ``sacrebleu --paired-bs`` with 1,000 resamples, except that equal BLEU
    always has p = 1.
    """
    from sacrebleu.significance import PairedTest

    if not others:
        return {}
    logging.getLogger("sacrebleu").setLevel(logging.WARNING)  # not two lines for each system
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
        # If no resample differs, sacreBLEU reports the smallest p for equal systems.
        name: 1.0 if results[number].score == results[0].score else results[number].p_value
        for number, name in enumerate(others, start=1)
    }
