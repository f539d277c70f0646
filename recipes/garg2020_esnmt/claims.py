"""The paper's seven claims as inequalities, tried on what the ledger holds.

    python recipes/garg2020_esnmt/claims.py results/garg2020/ledger.jsonl

A claim *holds* if the 95% interval of its statistic lies where the inequality says, *fails* if it
lies outside, and is *undecided* if it contains the limit, or if there is one seed and the
difference is under half a BLEU point. Intervals come from 1,000 resampled test sets, the same for
all arms, with BLEU averaged over the seeds that both arms have; seeds are resampled as well. A
share of a BLEU that is 0, on the test set or on a resample, leaves its claim undecided. Writes
claims.md and claims.json.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from garg2020_esnmt import echo_runs as records
from garg2020_esnmt.echo_runs import Run
from resampling import SEED, Interval, drawn_seeds, interval, multiplicities
from verdicts import NOT_RUN, SMALLEST, UNDECIDED, verdict_of

SIDES = ("encoder_forward", "encoder_backward", "decoder")
SHORT, LONG = 10, 14  # words: up to the first is short, from the second on is long

Runs = dict[str, list[Run]]
Choice = np.ndarray | None
Statistic = Callable[[Runs, Choice], float]


@dataclass
class Claim:
    """``low < statistic < high``; missing arms leave it untried."""

    number: str
    words: str
    arms: tuple[str, ...]
    statistic: Statistic
    low: float = 0.0
    high: float = math.inf
    in_points: bool = True  # the statistic is a difference in BLEU


def mean_bleu(runs: Runs, arm: str, chosen: Choice) -> float:
    return float(np.mean([run.bleu(chosen) for run in runs[arm]]))


def difference(better: str, worse: str) -> Statistic:
    return lambda runs, chosen: mean_bleu(runs, better, chosen) - mean_bleu(runs, worse, chosen)


def share(part: float, whole: float) -> float:
    """Not a number if the whole is 0."""
    return part / whole if whole > 0 else math.nan


def ratio(arm: str, base: str) -> Statistic:
    return lambda runs, chosen: share(mean_bleu(runs, arm, chosen), mean_bleu(runs, base, chosen))


def relative_gap(runs: Runs, chosen: Choice) -> float:
    simple, lstm = (mean_bleu(runs, arm, chosen) for arm in ("esnmt", "esnmt_lstm"))
    return share(abs(simple - lstm), max(simple, lstm))


def short_share(runs: Runs, arm: str, chosen: Choice) -> float:
    """BLEU of short sentences over that of long ones."""
    lengths = runs[arm][0].lengths
    chosen = np.arange(len(lengths)) if chosen is None else chosen
    short, long = chosen[lengths[chosen] <= SHORT], chosen[lengths[chosen] >= LONG]
    return share(mean_bleu(runs, arm, short), mean_bleu(runs, arm, long))


def short_difference(better: str, worse: str) -> Statistic:
    return lambda runs, chosen: short_share(runs, better, chosen) - short_share(runs, worse, chosen)


def ladder() -> list[Claim]:
    names = ("softmax only", "+ embeddings", "+ attention", "decoder", "encoder", "all")
    arms = ("release_softmax", "release_embeddings", "esnmt_lstm", "release_decoder",
            "release_encoder", "rnmt_plus")  # fmt: skip
    steps = zip(names[1:], names, arms[1:], arms, strict=False)
    return [
        Claim("3", f"ladder: {more} > {less}", (high, low), difference(high, low))
        for more, less, high, low in steps
    ]


CLAIMS = [
    *(
        Claim("1", f"0.6 <= BLEU({arm}) / BLEU(rnmt_plus) <= 0.9", (arm, "rnmt_plus"),
              ratio(arm, "rnmt_plus"), 0.6, 0.9, in_points=False)
        for arm in ("esnmt", "esnmt_lstm", "esnmt_faithful", "esnmt_lstm_faithful")
    ),
    Claim("2", "esnmt and esnmt_lstm differ by less than 5%", ("esnmt", "esnmt_lstm"),
          relative_gap, -math.inf, 0.05, in_points=False),
    *ladder(),
    *(
        Claim("4", f"twice as wide is better: {arm}", (f"{arm}_wide", arm),
              difference(f"{arm}_wide", arm))
        for arm in ("esnmt", "esnmt_lstm")
    ),
    *(
        Claim("5", f"radius: {better} >= {worse}", (better, worse), difference(better, worse))
        for better, worse in (("esnmt", "radius_0.9"), ("radius_0.9", "radius_0.1"),
                              ("radius_0.9", "radius_2.0"))
    ),
    *(
        Claim("6", f"short sentences fare relatively better: {better} > {worse}", (better, worse),
              short_difference(better, worse), in_points=False)
        for better, worse in (("radius_0.1", "radius_0.9"), ("radius_0.9", "radius_2.0"))
    ),
]  # fmt: skip


def try_claim(claim: Claim, runs: Runs) -> dict:
    """Value, interval and verdict of one claim."""
    result = {"claim": claim.number, "words": claim.words, "verdict": NOT_RUN}
    seeds = sorted(
        set.intersection(*({run.seed for run in runs.get(arm, [])} for arm in claim.arms))
    )
    if not seeds:
        return result
    paired = {
        arm: [run for seed in seeds for run in runs[arm] if run.seed == seed] for arm in claim.arms
    }
    sentences = np.arange(len(paired[claim.arms[0]][0].lengths))
    resamples = zip(multiplicities(len(sentences)), drawn_seeds(len(seeds)).T, strict=True)
    tries = [
        claim.statistic(
            {arm: [found[k] for k in drawn] for arm, found in paired.items()},
            np.repeat(sentences, times),
        )
        for times, drawn in resamples
    ]
    value = claim.statistic(paired, None)
    if undefined := int(np.isnan([value, *tries]).sum()):
        why = f"divides by a BLEU of 0 on {undefined} of {len(tries) + 1} test sets"
        return result | {"verdict": UNDECIDED, "why": why, "seeds": len(seeds)}
    found = interval(value, np.array(tries))
    smallest = SMALLEST if claim.in_points else 0.0
    return result | {
        "verdict": verdict_of(found, len(seeds), claim.low, claim.high, smallest),
        "value": round(found.difference, 4),
        "interval": [round(found.low, 4), round(found.high, 4)],
        "seeds": len(seeds),
    }


def slope(radii: list[float]) -> float:
    """The radius gained per layer, by least squares."""
    # Rounded, so that equal radii have a slope of 0.
    return round(float(np.polyfit(np.arange(len(radii)), radii, 1)[0]), 9)


def rise_of_radii(slopes: list[list[float]]) -> Interval:
    """The mean slope over seeds and stacks, with an interval.

    Each of 1,000 resamples draws seeds, and of each drawn seed its stacks, with replacement.

    Args:
        slopes: of each seed, one for each stack of layers.
    """
    random = np.random.RandomState(SEED)
    resampled = []
    for drawn in drawn_seeds(len(slopes)).T:
        stacks = [slopes[k] for k in drawn]
        resampled.append(np.mean([np.mean(random.choice(s, len(s))) for s in stacks]))
    return interval(float(np.mean([np.mean(s) for s in slopes])), np.array(resampled))


def radius_claims(runs: Runs) -> list[dict]:
    """Claim 7 for every arm with learned radii: all layers, directions and seeds together."""
    results = []
    for arm in ("esnmt", "esnmt_lstm", "esnmt_faithful", "esnmt_lstm_faithful"):
        words = f"learned radii rise with the layer: {arm}"
        radii = {
            run.seed: {side: found for side in SIDES if len(found := run.radii(side)) > 1}
            for run in runs.get(arm, [])
        }
        slopes = [[slope(found) for found in sides.values()] for sides in radii.values() if sides]
        result = {"claim": "7", "words": words, "verdict": NOT_RUN, "seeds": len(slopes)}
        if slopes:
            rise = rise_of_radii(slopes)
            # One seed says nothing of others.
            decided = verdict_of(rise, len(slopes), smallest=0.0)
            result |= {
                "verdict": decided if len(slopes) > 1 else UNDECIDED,
                "value": round(rise.difference, 4),
                "interval": [round(rise.low, 4), round(rise.high, 4)],
                "radii": radii,
            }
        results.append(result)
    return results


def markdown(results: list[dict]) -> str:
    lines = ["# The paper's claims", "", "| | claim | verdict | value | 95% interval | seeds |"]
    lines.append("|---|---|---|---|---|---|")
    for row in results:
        limits = " to ".join(f"{x:.3f}" for x in row.get("interval", [])) or "-"
        value = f"{row['value']:.3f}" if "value" in row else "-"
        verdict = f"{row['verdict']}: {row['why']}" if "why" in row else row["verdict"]
        cells = (row["claim"], row["words"], verdict, value, limits, row.get("seeds", 0))
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    notes = (
        "Multi30k is far below the paper's data: a claim that fails here says something of scale "
        "and refutes nothing.",
        "BLEU is tokenised. Values of claims 3 to 5 are differences in BLEU points; those of claim "
        f"6 are differences of BLEU(references of at most {SHORT} words) / BLEU(at least {LONG}); "
        "those of claim 7 are gains in radius per layer, by least squares, the mean over "
        "directions and seeds, both of which the resamples draw; one seed decides nothing.",
    )
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)])


def main(arguments: list[str] | None = None) -> int:
    """Try every claim and write the verdicts beside the ledger."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    path = parser.parse_args(arguments).ledger
    runs = records.read_runs(path)
    if not runs:
        print(f"claims: {path} holds no run of this machine", file=sys.stderr)
        return 2
    results = [try_claim(claim, runs) for claim in CLAIMS] + radius_claims(runs)
    for row in results:
        print(f"  {row['verdict']:10} {row['claim']}. {row['words']}")
    records.write(path.parent / "claims.json", json.dumps(results, indent=2))
    records.write(path.parent / "claims.md", markdown(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
