"""BLEU and recall by training count of the words in the references.

Bins are those of `fairseq_outlayers.analysis.frequency_bins`. The counts of the references' words
are stored in ``word_counts.json`` with the ledger, so that the training text is not needed later.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairseq_outlayers.analysis.frequency_bins import Bins, bins_by_count
from recipes.lab.scores import scoring
from recipes.lab.scores.resampling import Metric

FILE = "word_counts.json"
NAMES = ("100 or more", "10 to 99", "1 to 9", "never")


def counts(folder: Path, training: Path, references: Path) -> dict[str, int]:
    """Training counts of the words in the references; empty if the files are missing.

    Args:
        folder: of the ledger.
        training: training text.
    """
    file = folder / FILE
    if file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    if not (training.exists() and references.exists()):
        return {}
    seen = Counter(training.read_text(encoding="utf-8").split())
    words = sorted(set(references.read_text(encoding="utf-8").split()))
    found = {word: seen[word] for word in words}
    scoring.write_json(file, found)
    return found


def bins_of(found: dict[str, int]) -> Bins:
    """Bins of words by count; the last bin has unseen words."""
    return bins_by_count({word: count for word, count in found.items() if count})


def recall(bins: Bins) -> list[Metric]:
    """Share of the references' words of each bin that are in the translations, in %."""

    def statistics(hypotheses: Sequence[str], references: Sequence[str], group: int) -> np.ndarray:
        rows = []
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            wanted = Counter(w for w in reference.split() if bins.bin_of(w) == group)
            rows.append([(wanted & Counter(hypothesis.split())).total(), wanted.total()])
        return np.array(rows)

    return [
        Metric(
            f"recall of {name}", "tokenised",
            lambda hypotheses, references, g=group: statistics(hypotheses, references, g),
            lambda sums: 100 * sums[0] / sums[1] if sums[1] else float("nan"),
        )
        for group, name in enumerate(bins.names)
    ]  # fmt: skip


def of_rarest(metric: Metric, bins: Bins) -> list[Metric]:
    """A metric over sentences whose rarest word is in each bin."""

    def statistics(hypotheses: Sequence[str], references: Sequence[str], group: int) -> np.ndarray:
        rarest = [max(map(bins.bin_of, line.split()), default=0) for line in references]
        chosen = np.array(rarest) == group
        return metric.statistics(hypotheses, references) * chosen[:, None]

    return [
        metric._replace(
            name=f"{metric.name}, rarest word of {name}",
            statistics=lambda hypotheses, references, g=group: statistics(
                hypotheses, references, g
            ),
        )
        for group, name in enumerate(bins.names)
    ]
