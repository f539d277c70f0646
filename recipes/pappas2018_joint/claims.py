"""The claims of Pappas et al. (2018), as inequalities written down before the ledger's arms ran.

An arm is named as in arms.sh. Decided by summarise.py.
"""

import itertools
from collections.abc import Callable

from pappas2018_joint.axes import Arms
from pappas2018_joint.frequency_bins import gains_by_frequency
from verdicts import (
    FAILS,
    HOLDS,
    NOT_RUN,
    Claim,
    Part,
    about_equal,
    at_least,
    bleu_part,
    measured,
)


def best_in_each_direction(arms: Arms) -> Claim:
    parts = []
    for direction in arms.axes.directions:
        joint = arms.chosen_joint(direction)
        parts += [at_least(arms.runs, joint, arms.name(m, direction)) for m in ("nmt", "tied")]
    return Claim(1, "BLEU(joint, best d_j) ≥ max(NMT, tied) in each direction", parts)


def ranking(arms: Arms) -> Claim:
    runs, small, large = arms.runs, arms.name(arms.small), arms.name(arms.large)
    context = arms.name("context_structure")
    low = [arms.name(model) for model in ("output_structure", "bilinear", "tied")]
    parts = [at_least(runs, large, other) for other in (small, context)]
    parts += [about_equal(runs, small, context)]
    parts += [at_least(runs, high, other) for high in (small, context) for other in low]
    parts += [about_equal(runs, one, low[-1]) for one in low[:-1]]
    parts += [at_least(runs, other, arms.name("nmt")) for other in (large, small, context, *low)]
    text = "large joint > {small joint ≈ 7b} > {7a ≈ bilinear ≈ tied}; all ≥ NMT"
    return Claim(2, text, parts)


def robust_to_sampling(arms: Arms) -> Claim:
    vocabulary = arms.axes.sampling_vocabulary

    def drop(model: str, sign: int) -> dict[str, float]:
        full = f"{arms.first}.{vocabulary}.{model}"
        return {full: sign, f"{full}.share25": -sign}

    parts = [
        bleu_part(
            arms.runs,
            f"BLEU lost from all classes to 25%: {robust} ≤ {other}",
            {**drop(other, 1), **drop(robust, -1)},
        )
        for robust, other in ((arms.small, "tied"), ("tied", "nmt"))
    ]
    return Claim(3, "drop in BLEU from full to 25%: joint ≤ tied ≤ NMT", parts)


def speed(arms: Arms) -> Claim:
    rounds = arms.axes.speeds
    full = f"{arms.first}.{arms.axes.sampling_vocabulary}."
    endings = ["", *(f".share{share}" for share in sorted(arms.axes.shares, reverse=True))]

    def part(inequality: str, fast: str, slow: str, threshold: float) -> Part:
        if fast not in rounds or slow not in rounds:
            return Part(inequality, NOT_RUN, "not measured (80_speed.sh)")
        ratios = [own / other for own, other in zip(rounds[fast], rounds[slow], strict=True)]
        return measured(inequality, ratios, threshold)

    parts = []
    for ending in endings:
        small, nmt = full + arms.small + ending, f"{full}nmt{ending}"
        parts.append(part(f"tokens/s({small}) ≥ 0.85 tokens/s({nmt})", small, nmt, 0.85))
    if arms.small != arms.large:
        for ending in endings:
            small, large = full + arms.small + ending, full + arms.large + ending
            parts.append(part(f"tokens/s({small}) ≥ tokens/s({large})", small, large, 1))
    for more, fewer in itertools.pairwise(endings):
        for model in ("nmt", "tied", arms.small):
            fast, slow = full + model + fewer, full + model + more
            parts.append(part(f"tokens/s({fast}) ≥ tokens/s({slow})", fast, slow, 1))
    text = "small joint at least 0.85 as fast as NMT at the same share; slower with d_j; "
    return Claim(4, text + "faster with fewer classes", parts)


def depth(arms: Arms) -> Claim:
    runs, layers, depths = arms.runs, arms.axes.layers, sorted(arms.axes.depths)

    def at(model: str, depth: int) -> str:
        return arms.name(model, change="" if depth == layers else f"depth{depth}")

    parts = [at_least(runs, at(arms.small, depth), at("tied", depth)) for depth in depths]
    shallow, deep = arms.chosen_joint(), at("nmt", depths[-1])
    parts.append(at_least(runs, shallow, deep))
    inequality = f"parameters({shallow}) < parameters({deep})"
    sizes = [runs.figure(arm, "parameters") for arm in (shallow, deep)]
    if None in sizes:
        parts.append(Part(inequality, NOT_RUN))
    else:
        verdict = HOLDS if sizes[0] < sizes[1] else FAILS
        parts.append(Part(inequality, verdict, " and ".join(f"{size:,.0f}" for size in sizes)))
    text = f"joint ≥ tied at each depth; joint of {layers} layers ≥ NMT of {depths[-1]}, smaller"
    return Claim(5, text, parts)


def frequency_bins(arms: Arms) -> Claim:
    parts = [
        part
        for direction in arms.axes.directions
        for part in gains_by_frequency(
            arms.runs,
            arms.chosen_joint(direction),
            [arms.name(model, direction) for model in ("nmt", "tied")],
            arms.axes.training_texts.get(direction),
        )
    ]
    text = "METEOR: joint ≥ the others for frequent and rare words; most gain for frequent ones"
    return Claim(6, text, parts)


def tied_may_lose(arms: Arms) -> Claim:
    largest = arms.axes.vocabularies[-1]
    parts = [
        at_least(
            arms.runs, arms.name("nmt", direction, largest), arms.name("tied", direction, largest)
        )
        for direction in arms.axes.directions
    ]
    return Claim(7, "tied may lose to NMT at larger vocabularies", parts, any_is_enough=True)


def larger_vocabularies(arms: Arms) -> Claim:
    smallest, largest = arms.axes.vocabularies[0], arms.axes.vocabularies[-1]

    def gain(direction: str) -> dict[str, float]:
        """Best model at the largest vocabulary, less the best at the smallest."""
        best = []
        for vocabulary in (largest, smallest):
            models = ("nmt", "tied", arms.small, arms.large)
            names = [arms.name(model, direction, vocabulary) for model in models]
            best.append(max(names, key=lambda name: arms.runs.bleu(name) or -1))
        return {best[0]: 1, best[1]: -1}

    directions = arms.axes.directions
    parts = [
        bleu_part(arms.runs, f"{direction}: best BLEU, {largest} ≥ {smallest}", gain(direction))
        for direction in directions
    ]
    for direction in directions:
        source, target = direction.split("-")
        back = f"{target}-{source}"
        if source == "en" and back in directions:
            weights = {**gain(direction), **{arm: -w for arm, w in gain(back).items()}}
            parts.append(bleu_part(arms.runs, f"that gain: {direction} ≥ {back}", weights))
    text = "the best BLEU comes at the larger vocabularies, more so into the richer morphology"
    return Claim(8, text, parts)


CLAIMS: tuple[Callable[[Arms], Claim], ...] = (
    best_in_each_direction,
    ranking,
    robust_to_sampling,
    speed,
    depth,
    frequency_bins,
    tied_may_lose,
    larger_vocabularies,
)
