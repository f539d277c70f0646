"""Claim 7: gain of MorphSum+RE+RW over Word+RE, by the type-token ratio of the text."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import correlation, mean
from typing import NamedTuple, TypeVar

import numpy as np

from recipes.lab import scoring
from recipes.lab.claims import FAILS, HOLDS, NOT_RUN, UNDECIDED, Claim, Part, smaller
from recipes.lab.resampling import Estimate, estimate, over_seeds
from recipes.lab.runs import Runs
from recipes.lab.table import table

LANGUAGES, SIZES = ("de", "en", "fr"), ("5k", "15k", "29k")
STRONG = 0.5  # correlation
SAMPLED = ".sampled"  # ending of an arm
PLOT = "gain_against_type_token_ratio"
RATIOS = "type_token_ratios.json"  # stored with the ledger, because texts are not


Found = TypeVar("Found")


class Gain(NamedTuple):
    """The gain on one data set.

    Attributes:
        ratio: type-token ratio of the training text.
        kept: perplexity of MorphSum+RE+RW divided by Word+RE's, for each seed.
    """

    ratio: float
    kept: list[float]

    @property
    def saved(self) -> float:
        return 1 - mean(self.kept)


def type_token_ratio(text: Path) -> float:
    """Number of types divided by number of tokens."""
    words = text.read_text(encoding="utf-8").split()
    return len(set(words)) / len(words)


def type_token_ratios(texts: Mapping[str, Path], folder: Path) -> dict[str, float]:
    """Ratios by data set, computed from available texts, otherwise the stored ones.

    Args:
        folder: of the ledger.
    """
    file = folder / RATIOS
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    found = {data: type_token_ratio(text) for data, text in texts.items() if text.exists()}
    if found and {**kept, **found} != kept:
        scoring.write_json(file, {**kept, **found})
    return {**kept, **found}


def gains(runs: Runs, ratios: Mapping[str, float]) -> dict[str, Gain]:
    """Gains by data set, if both arms were run and the type-token ratio is known."""
    found = {}
    for data, ratio in ratios.items():
        for ending in ("", SAMPLED):
            arms = (f"{data}.morphsum_re_rw{ending}", f"{data}.word_re{ending}")
            ours, base = runs.paired(arms, "test_ppl")
            if ours:
                kept = [own / other for own, other in zip(ours, base, strict=True)]
                found[f"{data}{ending}"] = Gain(ratio, kept)
    return found


def over_all_classes(found: Mapping[str, Found]) -> dict[str, Found]:
    """Without the data sets of sampled softmax, whose perplexities are much higher."""
    return {data: one for data, one in found.items() if not data.endswith(SAMPLED)}


def with_intervals(found: Mapping[str, Gain]) -> dict[str, tuple[float, Estimate]]:
    """For the chart: ratio, and the saved share with its interval over seeds."""
    made = {}
    for data, gain in found.items():
        saved = 1 - np.array(gain.kept)
        made[data] = gain.ratio, estimate(over_seeds(saved[:, None]), len(saved))
    return made


def claim(found: Mapping[str, Gain]) -> Claim:
    """The gain is larger for German than for English and French, and for small data."""
    kept = {data: gain.kept for data, gain in found.items()}
    pairs = [(f"de{size}", f"{other}{size}") for size in SIZES for other in ("en", "fr")]
    pairs += [
        (f"{language}{small}", f"{language}{large}")
        for language in LANGUAGES
        for small, large in pairwise(SIZES)
    ]
    parts = [
        smaller(f"share of the perplexity kept: {first} < {second}",
             kept.get(first, []), kept.get(second, []), ".3f")
        for first, second in pairs
    ]  # fmt: skip
    text = "The gain of claim 4 grows with the type-token ratio and shrinks with the data."
    return Claim(7, text, [correlated(list(over_all_classes(found).values())), *parts])


def correlated(points: Sequence[Gain]) -> Part:
    """Whether the gain rises with the type-token ratio over all data sets."""
    words = f"correlation of the gain with the type-token ratio > {STRONG}"
    if len(points) < 3:
        return Part(words, NOT_RUN, f"{len(points)} data sets, 3 are needed")
    ratios, saved = [point.ratio for point in points], [point.saved for point in points]
    if len(set(ratios)) == 1 or len(set(saved)) == 1:
        return Part(words, UNDECIDED, "the same in all data sets")
    value, seeds = correlation(ratios, saved), min(len(point.kept) for point in points)
    judged = HOLDS if value > STRONG else FAILS if value <= 0 else UNDECIDED
    numbers = f"{value:.2f}, {len(points)} data sets, {seeds} seed{'s' if seeds > 1 else ''}"
    return Part(words, judged if seeds > 1 else UNDECIDED, numbers)


def table_of(found: Mapping[str, Gain]) -> list[str]:
    """A Markdown table with a row per data set."""
    return table({
        "data": list(found),
        "type-token ratio": [f"{one.ratio:.4f}" for one in found.values()],
        "saved against Word+RE": [f"{one.saved:.1%}" for one in found.values()],
    })  # fmt: skip
