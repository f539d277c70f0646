"""What the ledger says about the claims of Assylbekov & Takhanov (2018): holds, fails, undecided.

    python recipes/assylbekov2018_subword_lm/claims.py results/assylbekov2018/ledger.jsonl \\
        --work work/assylbekov2018_subword_lm

A claim compares test perplexities (lower is better) on one data set, each arm's mean over its seeds
against the other's. It is undecided where one seed each differ by less than 1%, or where the
ranges of several seeds overlap. Writes claims.md beside the ledger and, with matplotlib, a plot of
the gain against the type-token ratio.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ledger
import scoring
from recorded_runs import Runs
from verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED

CLOSE = 0.01  # relative difference of two single runs that decides nothing
MODELS = ("morphsum", "sylconcat", "charcnn")


class Comparison(NamedTuple):
    """``better`` is claimed to have the lower perplexity."""

    claim: str
    better: str
    worse: str


def comparisons() -> Iterator[Comparison]:
    """The inequalities, by the number of the claim in the recipe's README."""
    yield Comparison("1 reuse helps the word model", "word_re", "word_original")
    for row in ("none", "re", "rw", "re_rw"):
        yield Comparison("2 reuse harms CharCNN", "charcnn_original", f"charcnn_{row}")
    for model in MODELS:
        yield Comparison("3 RE+RW beats RW alone", f"{model}_re_rw", f"{model}_rw")
        for row in ("none", "rw"):
            yield Comparison(
                f"3 {row} is worse than original", f"{model}_original", f"{model}_{row}"
            )
    yield Comparison("4 MorphSum+RE+RW beats Word+RE", "morphsum_re_rw", "word_re")
    yield Comparison("5 tied bottom-up", "morphsum_E1", "morphsum_E2")
    yield Comparison("5 tied bottom-up", "sylconcat_EP1", "sylconcat_EP2")
    yield Comparison("5 the units' vectors tied", "morphsum_E1", "morphsum_1")
    yield Comparison("5 the units' vectors tied", "morphsum_re_rw", "morphsum_rw")
    yield Comparison("6 the last layer left free", "morphsum_E1", "morphsum_re_rw")
    yield Comparison("6 the last layer left free", "sylconcat_EP1", "sylconcat_re_rw")


Figures = dict[str, dict[str, list[float]]]


def perplexities(runs: Runs) -> Figures:
    """Test perplexities by data and model, a value a seed."""
    figures: Figures = {}
    for arm in runs.arms:
        data, _, model = arm.partition(".")
        figures.setdefault(data, {})[model] = runs.values(arm, "test_ppl")
    return figures


def verdict(better: Sequence[float], worse: Sequence[float]) -> str:
    """Of "the first are lower"; the ledger has no likelihoods of sentences to resample."""
    difference = (mean(worse) - mean(better)) / mean(worse)
    overlapping = min(worse) <= max(better) and min(better) <= max(worse)
    single = len(better) == 1 or len(worse) == 1
    if (single and abs(difference) < CLOSE) or (not single and overlapping):
        return UNDECIDED
    return HOLDS if difference > 0 else FAILS


def rows(figures: Figures) -> Iterator[list[str]]:
    """A line of the table for every inequality and every data set that has both arms."""
    for claim, better, worse in comparisons():
        found = False
        for data, models in sorted(figures.items()):
            for ending in ("", ".sampled", ".medium"):
                first, second = models.get(better + ending), models.get(worse + ending)
                if first and second:
                    found = True
                    yield [claim, f"{data}{ending}", f"{better} {mean(first):.1f}",
                           f"{worse} {mean(second):.1f}", verdict(first, second)]  # fmt: skip
        if not found:
            yield [claim, "-", better, worse, NOT_RUN]


def type_token_ratio(text: Path) -> float:
    """Different words to words."""
    words = text.read_text(encoding="utf-8").split()
    return len(set(words)) / len(words)


def gains(figures: Figures, texts: Path) -> list[tuple[str, float, float]]:
    """Claim 7: data set, type-token ratio, and by how much MorphSum+RE+RW beats Word+RE."""
    found = []
    for data, models in sorted(figures.items()):
        for ending in ("", ".sampled"):
            ours, base = models.get(f"morphsum_re_rw{ending}"), models.get(f"word_re{ending}")
            names = sorted(texts.glob(f"{data}*.txt")) if ours and base else []
            if ours and base and names:
                gain = (mean(base) - mean(ours)) / mean(base)
                found.append((data, type_token_ratio(names[0]), gain))
    return found


def plot(points: Sequence[tuple[str, float, float]], path: Path) -> None:
    """Gain against type-token ratio; nothing without matplotlib."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("  no plot: matplotlib is not installed (pip install matplotlib)")
        return
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3.5), layout="constrained")
    for name, ratio, gain in points:
        axes.plot(ratio, 100 * gain, "o", color="C0")
        axes.annotate(name, (ratio, 100 * gain), xytext=(4, 4), textcoords="offset points")
    axes.set_xlabel("type-token ratio of the training text")
    axes.set_ylabel("perplexity saved against Word+RE, %")
    figure.savefig(path)
    print(f"  {path}")


def main(arguments: list[str] | None = None) -> int:
    """Write claims.md and the plot, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="of the recipe, for its texts")
    options = parser.parse_args(arguments)
    entries = ledger.read(options.ledger)
    if not entries:
        print(f"claims: {options.ledger} is missing or empty: run an arm first", file=sys.stderr)
        return 2
    figures = perplexities(Runs(entries))
    lines = [
        "# Claims",
        "",
        "| claim | data | better, as claimed | worse | |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows(figures)]
    points = gains(figures, options.work / "text")
    if points:
        lines += [
            "",
            "| claim 7: data | type-token ratio | saved against Word+RE |",
            "|---|---|---|",
        ]
        lines += [f"| {name} | {ratio:.4f} | {gain:.1%} |" for name, ratio, gain in points]
        plot(points, options.ledger.parent / "gain_against_type_token_ratio.svg")
    scoring.write_lines(options.ledger.parent / "claims.md", lines)
    print("\n".join(lines[2:]))
    print(f"  {options.ledger.parent / 'claims.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
