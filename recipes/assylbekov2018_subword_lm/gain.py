"""Claim 7: gain of MorphSum+RE+RW over Word+RE, by the type-token ratio of the text."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recipes.lab.claims import MISSING, NOT_RUN, UNDECIDED, Claim, Part, judge, smaller_resampled
from recipes.lab.pages.table import table
from recipes.lab.runs import Runs
from recipes.lab.scores import scoring
from recipes.lab.scores.resampling import Estimate, estimate, ratio_over_seeds
from recipes.lab.scores.schedules import given

LANGUAGES, SIZES = ("de", "en", "fr"), ("5k", "15k", "29k")
STRONG = 0.5  # correlation
NORMAL = 1.960  # two-sided 95% quantile of the normal distribution
SAMPLED = ".sampled"  # ending of an arm
PLOT = "gain_against_type_token_ratio"
RATIOS = "type_token_ratios.json"  # stored with the ledger, because texts are not


class Gain(NamedTuple):
    """The gain on one data set.

    Attributes:
        ratio: type-token ratio of the training text.
        by_seed: perplexities of MorphSum+RE+RW and of Word+RE, each on the whole test text, then
            on its resamples, ``(seeds, 1 + RESAMPLES)`` or ``(seeds, 1)``.
        rates: learning rates of both models; gains are compared at equal ones.
        epochs: of both models, likewise.
    """

    ratio: float
    by_seed: Sequence[np.ndarray]
    rates: tuple[str, ...] = ()
    epochs: str = ""

    @property
    def alike(self) -> tuple[tuple[str, ...], str]:
        """What must be equal for two gains to be compared."""
        return self.rates, self.epochs

    @property
    def seeds(self) -> int:
        """The number of seeds that both models have."""
        return len(self.by_seed[0])

    @property
    def saved(self) -> Estimate:
        return estimate(1 - self.kept(self.seeds), self.seeds)

    def kept(self, seeds: int) -> np.ndarray:
        """The ratio of the perplexities over the first so many seeds.

        On the whole text, then in every draw, ``(1 + DRAWS,)``.
        """
        return ratio_over_seeds(*(of_model[:seeds] for of_model in self.by_seed))


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
    kept = scoring.read_json(file)
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
            by_seed = runs.perplexities_by_seed(arms)
            if by_seed:
                view = runs.alike(arms) or runs
                rates = tuple(given(view.entry(arm), ["--lr"])[0] for arm in arms)
                (epochs,) = given(view.entry(arms[0]), ["--max-epoch"])
                found[f"{data}{ending}"] = Gain(ratio, by_seed, rates, epochs)
    return found


def comparable(found: Mapping[str, Gain]) -> list[Gain]:
    """The gains over all classes (perplexities of sampled softmax are much higher) at one pair of
    learning rates and one number of epochs, those of most data sets."""
    over_all = [one for data, one in found.items() if not data.endswith(SAMPLED)]
    if not over_all:
        return []
    ((alike, _),) = Counter(one.alike for one in over_all).most_common(1)
    return [one for one in over_all if one.alike == alike]


def claim(found: Mapping[str, Gain]) -> Claim:
    """The gain is larger for German than for English and French, and for small data."""
    pairs = [(f"de{size}", f"{other}{size}") for size in SIZES for other in ("en", "fr")]
    pairs += [
        (f"{language}{small}", f"{language}{large}")
        for language in LANGUAGES
        for small, large in pairwise(SIZES)
    ]
    parts = []
    for first, second in pairs:
        words = f"perplexity(MorphSum) / perplexity(Word): {first} < {second}"
        if first not in found or second not in found:
            lacking = ", ".join(f"the gain of {d}" for d in (first, second) if d not in found)
            parts.append(Part(words, NOT_RUN, f"{MISSING}{lacking}"))
            continue
        one, other = found[first], found[second]
        if one.rates != other.rates:
            of_both = " and ".join(f"{'/'.join(each.rates)}" for each in (one, other))
            parts.append(Part(words, UNDECIDED, f"learning rates differ: {of_both}"))
        elif one.alike != other.alike:
            of_both = f"{one.epochs} and {other.epochs}"
            parts.append(Part(words, UNDECIDED, f"numbers of epochs differ: {of_both}"))
        else:
            seeds = min(one.seeds, other.seeds)
            kept = one.kept(seeds), other.kept(seeds)
            parts.append(smaller_resampled(words, *kept, seeds, ".3f"))
    text = "The gain of claim 4 grows with the type-token ratio and shrinks with the data."
    return Claim(7, text, [correlated(comparable(found)), *parts])


def correlated(points: Sequence[Gain]) -> Part:
    """Whether the gain rises with the type-token ratio over data sets."""
    words = f"correlation of the gain with the type-token ratio > {STRONG}"
    if len(points) < 3:
        return Part(words, NOT_RUN, f"{len(points)} data sets, 3 are needed")
    ratios, saved = [point.ratio for point in points], [point.saved.value for point in points]
    if len(set(ratios)) == 1 or len(set(saved)) == 1:
        return Part(words, UNDECIDED, "the same in all data sets")
    found = over_data_sets(float(np.corrcoef(ratios, saved)[0, 1]), len(points))
    found = found._replace(seeds=min(point.seeds for point in points))
    judged = judge(found, STRONG, margin=0)
    numbers = f"{found.interval()}, {len(points)} data sets, {found.seeds} seed"
    numbers += "s" if found.seeds > 1 else ""
    return Part(words, judged, numbers)


def over_data_sets(correlation: float, number: int) -> Estimate:
    """A correlation with its 95% interval by Fisher's transformation; [-1, 1] for three points."""
    if number < 4:
        return Estimate(correlation, -1.0, 1.0, 0)
    middle = np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12))
    half = NORMAL / np.sqrt(number - 3)
    low, high = np.tanh([middle - half, middle + half])
    return Estimate(correlation, float(low), float(high), 0)


def table_of(found: Mapping[str, Gain]) -> list[str]:
    """A Markdown table with a row per data set."""
    rates = [", ".join(filter(None, one.rates)) for one in found.values()]
    return table({
        "data": list(found),
        "type-token ratio": [f"{one.ratio:.4f}" for one in found.values()],
        "saved against Word+RE": [f"{one.saved.value:.1%}" for one in found.values()],
        "learning rates (morphs, words)": rates,
    })  # fmt: skip
