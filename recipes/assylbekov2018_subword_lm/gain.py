"""Claim 7: what MorphSum+RE+RW saves against Word+RE, by the type-token ratio of the text."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import correlation, mean
from typing import NamedTuple

from assylbekov2018_subword_lm.inequalities import less
from recorded_runs import Runs
from verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED, Claim, Part

LANGUAGES, SIZES = ("de", "en", "fr"), ("5k", "15k", "29k")
STRONG = 0.5  # correlation


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
            ours = runs.values(f"{data}.morphsum_re_rw{ending}", "test_ppl")
            base = runs.values(f"{data}.word_re{ending}", "test_ppl")
            if ours and base and text.exists():
                kept = [value / mean(base) for value in ours]
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
        less(f"share of the perplexity kept: {first} < {second}",
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
    value = correlation(ratios, saved)
    judged = HOLDS if value > STRONG else FAILS if value <= 0 else UNDECIDED
    return Part(words, judged, f"{value:.2f}, {len(points)} data sets")


def table(found: Mapping[str, Gain]) -> list[str]:
    """In Markdown, a line for each data set."""
    lines = ["| data | type-token ratio | saved against Word+RE |", "|---|---|---|"]
    return lines + [f"| {data} | {x.ratio:.4f} | {x.saved:.1%} |" for data, x in found.items()]


def plot(found: Mapping[str, Gain], path: Path) -> None:
    """Gain against type-token ratio; nothing without matplotlib."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("  no plot: matplotlib is not installed (pip install matplotlib)")
        return
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3.5), layout="constrained")
    for data, point in found.items():
        place = (point.ratio, 100 * point.saved)
        axes.plot(*place, "o", color="C0")
        axes.annotate(data, place, xytext=(4, 4), textcoords="offset points")
    axes.set_xlabel("type-token ratio of the training text")
    axes.set_ylabel("perplexity saved against Word+RE, %")
    figure.savefig(path)
    print(f"  {path}")
