"""Validation perplexity of two arms after the same number of epochs.

A run has, after any epoch, the lowest perplexity so far; one that has ended keeps it.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from recipes.lab.figures import training_curves
from recipes.lab.figures.charts import seeds_in_words
from recipes.lab.pages.table import table
from recipes.lab.runs import Runs
from recipes.lab.scores.resampling import IN_WORDS, Estimate, percent_saved

Epochs = Sequence[dict]  # of a run (`training_curves.of`)

NOTE = (
    "Difference of the validation perplexity, the lowest so far, with its interval of"
    f" {IN_WORDS} over seeds."
    " Each line is tested by itself. A run that has ended keeps its perplexity."
)


def difference(
    one: Sequence[Sequence[dict]], other: Sequence[Sequence[dict]], epoch: int
) -> Estimate:
    """How much higher the perplexity of the first arm is after an epoch, in percent.

    Args:
        one: its runs, seed by seed.
        other: those of the other arm, with the same seeds.
    """
    first, second = (
        np.array([[min(e["valid_ppl"] for e in run[:epoch])] for run in runs])
        for runs in (one, other)
    )
    return percent_saved(first, second).opposite


def curves(runs: Runs, one: str, other: str) -> tuple[list[Epochs], list[Epochs]]:
    """The epochs of both arms' runs, for the seeds of one schedule whose curves are known."""
    view = runs.alike([one, other])
    found = [
        tuple(training_curves.of(view.entry(arm, seed)) for arm in (one, other))
        for seed in (view.seeds([one, other]) if view else ())
    ]
    both = [pair for pair in found if all(pair)]
    return [first for first, _ in both], [second for _, second in both]


def section(runs: Runs, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """A column for each pair of arms and a row for each epoch, in Markdown; empty without runs."""
    columns = {}
    for one, other in pairs:
        compared = curves(runs, one, other)
        if compared[0]:
            heading = f"{one} against {other} ({seeds_in_words(len(compared[0]))})"
            columns[heading] = list(_column(*compared))
    if not columns:
        return []
    longest = max(map(len, columns.values()))
    cells = {"epochs": [str(epoch) for epoch in range(1, longest + 1)]}
    cells |= {name: [*found, *[""] * (longest - len(found))] for name, found in columns.items()}
    return ["## After equal epochs", "", NOTE, "", *table(cells)]


def _column(one: Sequence[Epochs], other: Sequence[Epochs]) -> Iterator[str]:
    for epoch in range(1, max(len(run) for run in (*one, *other)) + 1):
        yield f"{difference(one, other, epoch).interval('+.1f')}%"
