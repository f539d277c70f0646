"""METEOR by training count of the words (the paper's Figure 3), resampled for claim 6."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from fairseq_outlayers.analysis.frequency_bins import Bins, bins_by_count
from fairseq_outlayers.analysis.meteor import PARAMETERS, MatchStatistics, MeteorParameters
from recipes.lab.claims import NOT_RUN, Part, measured
from recipes.lab.runs import Runs, Score
from recipes.lab.scores.resampling import Metric


def bins_of(training_text: Path) -> Bins:
    """Bins of words by their count in a text."""
    return bins_by_count(Counter(training_text.read_text(encoding="utf-8").split()))


def meteor(bins: Bins, parameters: MeteorParameters) -> list[Metric]:
    """METEOR (0 to 100) for the words of each bin."""
    known: dict[tuple[str, ...], np.ndarray] = {}  # the search for chunks is slow
    groups = range(len(bins.names))

    def statistics(hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
        texts = (*hypotheses, *references)
        if texts not in known:
            rows = []
            for hypothesis, reference in zip(hypotheses, references, strict=True):
                one = MatchStatistics([hypothesis.split()], [reference.split()], bins.bin_of)
                counts = (one.hypothesis_words, one.reference_words, one.matches)
                rows.append([*(count[group] for count in counts for group in groups), one.chunks])
            known[texts] = np.array(rows)
        return known[texts]

    def score(sums: Sequence[int], group: int) -> float:
        total = MatchStatistics([], [], bins.bin_of)
        parts = (total.hypothesis_words, total.reference_words, total.matches)
        for number, counts in enumerate(parts):
            own = sums[number * len(groups) : (number + 1) * len(groups)]
            counts.update(dict(enumerate(own)))
        total.chunks = sums[-1]
        return 100 * (total.scores(parameters, group).meteor or 0.0)

    return [
        Metric(f"METEOR {name}", "tokenised", statistics, partial(score, group=group))
        for group, name in enumerate(bins.names)
    ]


def gains_by_frequency(
    runs: Runs, joint: str, others: Sequence[str], training_text: Path
) -> list[Part]:
    """Claim 6 for one direction."""
    language = joint.split(".")[0].split("-")[1]
    if language not in PARAMETERS:
        return []
    if not training_text.exists():
        inequality = f"METEOR by frequency: {joint} against {' and '.join(others)}"
        return [Part(inequality, NOT_RUN, "missing: training text")]
    bins = bins_of(training_text)
    metrics = meteor(bins, PARAMETERS[language])
    (high, middle, low), parts = bins.names[:3], []
    for other in others:

        def part(inequality: str, *groups: int, other: str = other) -> None:
            """The gain in one bin, or the difference of gains between two."""

            def figure(score: Score) -> np.ndarray:
                gains = [score(joint, metrics[g]) - score(other, metrics[g]) for g in groups]
                return gains[0] - sum(gains[1:])

            parts.append(measured(runs, inequality, [joint, other], figure))

        for group, name in ((0, high), (2, low)):
            part(f"METEOR({joint}) ≥ METEOR({other}), words seen {name} times", group)
        for group, name in ((1, middle), (2, low)):
            part(f"gain over {other}: words seen {high} times ≥ {name} times", 0, group)
    return parts
