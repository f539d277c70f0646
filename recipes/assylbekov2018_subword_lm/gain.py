"""Claim 7: what MorphSum+RE+RW saves against Word+RE, by the type-token ratio of the text."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import correlation, mean
from typing import NamedTuple

from recipes.lab.claims import FAILS, HOLDS, NOT_RUN, UNDECIDED, Claim, Part, smaller
from recipes.lab.figures import Chart, Panel, Series
from recipes.lab.runs import Runs
from recipes.lab.table import table

LANGUAGES, SIZES = ("de", "en", "fr"), ("5k", "15k", "29k")
STRONG = 0.5  # correlation
PLOT = "gain_against_type_token_ratio.svg"


class Gain(NamedTuple):
    """One data set.

    Attributes:
        ratio: different words to words of the training text.
        kept: perplexity of MorphSum+RE+RW as a share of Word+RE's, a value a seed.
    """

    ratio: float
    kept: list[float]

    @property
    def saved(self) -> float:
        return 1 - mean(self.kept)


def type_token_ratio(text: Path) -> float:
    """Different words to words."""
    words = text.read_text(encoding="utf-8").split()
    return len(set(words)) / len(words)


def gains(runs: Runs, texts: Mapping[str, Path]) -> dict[str, Gain]:
    """By data set, those whose two arms were run and whose training text is there."""
    found = {}
    for data, text in texts.items():
        for ending in ("", ".sampled"):
            arms = (f"{data}.morphsum_re_rw{ending}", f"{data}.word_re{ending}")
            ours, base = runs.paired(arms, "test_ppl")
            if ours and text.exists():
                kept = [own / other for own, other in zip(ours, base, strict=True)]
                found[f"{data}{ending}"] = Gain(type_token_ratio(text), kept)
    return found


def claim(found: Mapping[str, Gain]) -> Claim:
    """The gain is larger in German than in English and French, and in small data."""
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
    return Claim(7, text, [correlated(list(found.values())), *parts])


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
    """In Markdown, a line for each data set."""
    return table({
        "data": list(found),
        "type-token ratio": [f"{one.ratio:.4f}" for one in found.values()],
        "saved against Word+RE": [f"{one.saved:.1%}" for one in found.values()],
    })  # fmt: skip


def chart(found: Mapping[str, Gain]) -> Chart:
    """Gain against type-token ratio."""
    ratios = [one.ratio for one in found.values()]
    saved = [100 * one.saved for one in found.values()]
    points = Series("", ratios, saved, style="points", names=list(found))
    x, y = "type-token ratio of the training text", "perplexity saved against Word+RE, %"
    return [Panel(x, y, [points])]
