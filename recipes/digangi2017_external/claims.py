"""BLEU against the number of sentence pairs, and what becomes of the paper's claims.

    python recipes/digangi2017_external/claims.py results/digangi2017/ledger.jsonl

Writes claims.md, claims.json and, where matplotlib is installed, bleu_by_size.png beside the
ledger. A difference counts as decided if it has the same sign in every seed and, in every seed, a
paired bootstrap gives p < 0.05.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from results_by_size import SETTINGS, Arm, Results, lines_of, plot

import report
import scoring
from comparison import mean_and_deviation

LEVEL = 0.05
LEAST = (
    0.5  # BLEU; a difference of differences has no bootstrap, and less than this decides nothing
)
HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "fails", "undecided", "not run"


def above(results: Results, better: Arm, worse: Arm) -> str:
    """Whether one arm has more BLEU than another."""
    first, second = results.bleu(better), results.bleu(worse)
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        return NOT_RUN
    if any(results.p_value(better, worse, seed) >= LEVEL for seed in seeds):
        return UNDECIDED
    return same_sign([first[seed] - second[seed] for seed in seeds])


def same_sign(differences: Sequence[float], least: float = 0.0) -> str:
    """Whether all differences are above ``least``, or all below its negative."""
    if not differences:
        return NOT_RUN
    if all(difference > least for difference in differences):
        return HOLDS
    return FAILS if all(difference < -least for difference in differences) else UNDECIDED


def together(verdicts: Sequence[str]) -> str:
    """The verdict on a claim that says several things."""
    for verdict in (FAILS, NOT_RUN, UNDECIDED):
        if verdict in verdicts:
            return verdict
    return HOLDS if verdicts else NOT_RUN


def ordered(results: Results, size: str, vectors: str, settings: Sequence[str]) -> str:
    """Whether the settings come in this order, the best first."""
    arms = [Arm(s, size, "" if s == "baseline" else vectors) for s in settings]
    return together([above(results, *pair) for pair in itertools.pairwise(arms)])


def gain_falls(results: Results, vectors: str) -> str:
    """Whether mix_sum gains less over the baseline the more pairs there are."""
    gains: list[dict[int, float]] = []
    for size in results.sizes:
        mixed, base = (
            results.bleu(Arm("mix_sum", size, vectors)),
            results.bleu(Arm("baseline", size)),
        )
        gains.append({seed: mixed[seed] - base[seed] for seed in mixed.keys() & base.keys()})
    verdicts = []
    for fewer, more in itertools.pairwise(gains):
        seeds = fewer.keys() & more.keys()
        verdicts.append(same_sign([fewer[seed] - more[seed] for seed in seeds], LEAST))
    return together(verdicts)


def more_unknown_symbols(results: Results, vectors: str) -> str:
    """Whether the mixtures write the unknown symbol more often than the baseline."""
    verdicts = []
    for size in results.sizes:
        base = results.unknown_symbols(Arm("baseline", size))
        for setting in ("mix_sum", "mix_gate"):
            mixed = results.unknown_symbols(Arm(setting, size, vectors))
            seeds = base.keys() & mixed.keys()
            verdicts.append(same_sign([mixed[seed] - base[seed] for seed in seeds]))
    return together(verdicts)


def in_domain_better(results: Results) -> str:
    """Whether vectors of the same domain are at least as good as others, everywhere."""
    first, *others = results.kinds
    return together(
        [
            above(results, Arm(setting, size, first), Arm(setting, size, other))
            for other in others
            for size in results.sizes
            for setting in SETTINGS[1:]
        ]
    )


def fewest_unknown_to_both(folder: Path) -> str:
    """Whether no text has more words unknown to both sides than to either (by construction)."""
    verdicts = []
    for path in sorted(folder.glob("unknown_words.*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [line.strip("| ").split(" | ") for line in lines[2:5]]
        internal, external, both = (list(map(int, numbers)) for _, *numbers in rows)
        least = all(b <= min(i, e) for b, i, e in zip(both, internal, external, strict=True))
        verdicts.append(HOLDS if least else FAILS)
    return together(verdicts)


def verdicts(results: Results, folder: Path) -> dict[str, str]:
    """The paper's claims, as inequalities, and what becomes of each."""
    vectors, (small, *_, large) = results.kinds[0], [*results.sizes, results.sizes[-1]]
    chains: dict[str, Callable[[], str]] = {
        f"1. {small} pairs: mix_sum > mix_gate > only_external > baseline": lambda: ordered(
            results, small, vectors, ("mix_sum", "mix_gate", "only_external", "baseline")
        ),
        "2. BLEU(mix_sum) - BLEU(baseline) falls with the number of pairs": lambda: gain_falls(
            results, vectors
        ),
        f"3. {large} pairs: baseline >= mix_gate >= mix_sum > only_external": lambda: ordered(
            results, large, vectors, ("baseline", "mix_gate", "mix_sum", "only_external")
        ),
        "4. unknown to both <= min(internal, external); a check": lambda: fewest_unknown_to_both(
            folder
        ),
        "5. unknown symbols written: mix_sum, mix_gate > baseline": lambda: more_unknown_symbols(
            results, vectors
        ),
        "6. in-domain vectors >= others": lambda: in_domain_better(results),
    }
    return {claim: judge() for claim, judge in chains.items()}


def markdown(results: Results, judged: dict[str, str], missing: Sequence[str]) -> Iterator[str]:
    """The page."""
    yield "# External monolingual embeddings (Di Gangi & Federico 2017)\n"
    yield "| BLEU | " + " | ".join(f"{size} pairs" for size in results.sizes) + " |"
    yield "|---|" + "---|" * len(results.sizes)
    for label, arms in lines_of(results):
        cells = [mean_and_deviation(list(results.bleu(arm).values())) for arm in arms]
        yield f"| {label} | " + " | ".join(cells) + " |"
    yield "\n| the paper's claim | here |\n|---|---|"
    for claim, verdict in judged.items():
        yield f"| {claim} | {verdict} |"
    yield (
        "\n*holds* and *fails*: every seed has the same sign and p < 0.05 in a paired bootstrap "
        f"(claim 2: more than {LEAST} BLEU). The data is far below the paper's: a claim that fails "
        "here is evidence about scale, not a refutation.\n"
    )
    yield f"Arms not run: {', '.join(missing) or 'none'}."


def main(arguments: list[str] | None = None) -> int:
    """Write the page, its JSON and the plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--arms", nargs="*", default=[], help="of the recipe, in order")
    parser.add_argument("--seeds", nargs="*", type=int, default=[], help="that each should have")
    options = parser.parse_args(arguments)
    folder = options.ledger.parent
    try:
        results = Results.read(options.ledger)
        if not results.kinds:
            raise ValueError(f"{options.ledger}: no arm with external vectors yet: run one first")
        judged = verdicts(results, folder)
    except ValueError as error:
        print(f"claims: {error}", file=sys.stderr)
        return 2
    missing = report.not_run(list(results.rows.values()), options.arms, options.seeds)
    text = "\n".join(markdown(results, judged, missing))
    scoring.write_lines(folder / "claims.md", text.split("\n"))
    content = json.dumps({"claims": judged, "not_run": missing}, indent=2)
    scoring.write_lines(folder / "claims.json", content.split("\n"))
    print(text)
    print(f"{folder / 'claims.md'}\n{folder / 'claims.json'}")
    drawn = plot(results, folder / "bleu_by_size.png")
    print(folder / "bleu_by_size.png" if drawn else "no plot: matplotlib is not installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
