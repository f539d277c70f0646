"""METEOR by how often training has seen the words (the paper's Figure 3), resampled for claim 6."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the package need not be installed

import numpy as np

from fairseq_outlayers.analysis.frequency_bins import Bins, bins_by_count
from fairseq_outlayers.analysis.meteor import PARAMETERS, MatchStatistics, MeteorParameters
from recorded_runs import Runs
from resampling import interval, multiplicities
from verdicts import NOT_RUN, Part, in_words, verdict_of


def bins_of(training_text: Path) -> Bins:
    """Words by their count in a text."""
    return bins_by_count(Counter(training_text.read_text(encoding="utf-8").split()))


def resampled_meteor(
    hypotheses: Sequence[str], references: Sequence[str], bins: Bins, parameters: MeteorParameters
) -> dict[str, np.ndarray]:
    """METEOR from 0 to 100 of every bin: on the whole test set, then on each of its resamples."""
    groups = range(len(bins.names))
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        one = MatchStatistics([hypothesis.split()], [reference.split()], bins.bin_of)
        counts = (one.hypothesis_words, one.reference_words, one.matches)
        rows.append([*(count[group] for count in counts for group in groups), one.chunks])
    sentences = np.array(rows)
    resamples = np.concatenate([np.ones((1, len(rows)), dtype=np.int64), multiplicities(len(rows))])
    scores = [_meteor(sums, bins, parameters) for sums in (resamples @ sentences).tolist()]
    return {
        name: np.array([score[group] for score in scores]) for group, name in enumerate(bins.names)
    }


def _meteor(sums: list[int], bins: Bins, parameters: MeteorParameters) -> list[float]:
    """Of every bin, from the sums over some sentences."""
    groups = len(bins.names)
    total = MatchStatistics([], [], bins.bin_of)
    parts = (total.hypothesis_words, total.reference_words, total.matches)
    for number, counts in enumerate(parts):
        counts.update(dict(enumerate(sums[number * groups : (number + 1) * groups])))
    total.chunks = sums[-1]
    return [100 * (total.scores(parameters, group).meteor or 0.0) for group in range(groups)]


def gains_by_frequency(
    runs: Runs, joint: str, others: Sequence[str], training_text: Path | None
) -> list[Part]:
    """Claim 6 for one direction: METEOR of one seed, with intervals of resampled test sets."""
    language = joint.split(".")[0].split("-")[1]
    names = [joint, *others]
    texts = {arm: runs.translations(arm, "tokenised") for arm in names}
    inequality = f"METEOR by frequency: {joint} against {' and '.join(others)}"
    missing = [arm for arm, found in texts.items() if found is None]
    if language not in PARAMETERS:
        return []
    if missing or training_text is None or not training_text.exists():
        return [Part(inequality, NOT_RUN, f"missing: {', '.join(missing) or 'training text'}")]
    bins = bins_of(training_text)
    meteor = {arm: resampled_meteor(*texts[arm], bins, PARAMETERS[language]) for arm in names}
    high, middle, low = bins.names[:3]
    parts = []

    def part(inequality: str, scores: np.ndarray) -> None:
        found = interval(float(scores[0]), scores[1:])
        parts.append(Part(inequality, verdict_of(found, seeds=1), in_words(found, seeds=1)))

    for other in others:
        gain = {name: meteor[joint][name] - meteor[other][name] for name in bins.names}
        for name in (high, low):
            part(f"METEOR({joint}) ≥ METEOR({other}), words seen {name} times", gain[name])
        for name in (middle, low):
            text = f"gain over {other}: words seen {high} times ≥ {name} times"
            part(text, gain[high] - gain[name])
    return parts
