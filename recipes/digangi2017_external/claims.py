"""BLEU against the number of sentence pairs, and what becomes of the paper's claims.

    python recipes/digangi2017_external/claims.py results/digangi2017/ledger.jsonl

Writes claims.md, claims.json and, where matplotlib is installed, bleu_by_size.png beside the
ledger. verdicts.py says what decides a difference in BLEU; counts of unknown symbols must differ in
the same direction in every seed.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import report
import scoring
from comparison import mean_and_deviation
from digangi2017_external.results_by_size import SETTINGS, Arm, Results, lines_of, plot
from verdicts import (
    FAILS,
    HOLDS,
    NOT_RUN,
    SMALLEST,
    UNDECIDED,
    Claim,
    Part,
    as_json,
    at_least,
    bleu_part,
)

Parts = list[Part]


def above(results: Results, better: Arm, worse: Arm) -> Part:
    """One arm has at least the BLEU of another."""
    return at_least(results.runs, str(better), str(worse))


def same_sign(inequality: str, differences: Sequence[float]) -> Part:
    """Whether all differences are above 0, or all below it."""
    numbers = ", ".join(f"{difference:+}" for difference in differences)
    if not differences:
        return Part(inequality, NOT_RUN)
    if all(difference > 0 for difference in differences):
        return Part(inequality, HOLDS, numbers)
    fails = all(difference < 0 for difference in differences)
    return Part(inequality, FAILS if fails else UNDECIDED, numbers)


def ordered(results: Results, size: str, vectors: str, settings: Sequence[str]) -> Parts:
    """Whether the settings come in this order, the best first."""
    arms = [Arm(s, size, "" if s == "baseline" else vectors) for s in settings]
    return [above(results, *pair) for pair in itertools.pairwise(arms)]


def gain_falls(results: Results, vectors: str) -> Parts:
    """Whether mix_sum gains less over the baseline the more pairs there are."""
    parts = []
    for fewer, more in itertools.pairwise(results.sizes):
        gain = {str(Arm("mix_sum", fewer, vectors)): 1, str(Arm("baseline", fewer)): -1}
        gain |= {str(Arm("mix_sum", more, vectors)): -1, str(Arm("baseline", more)): 1}
        parts.append(bleu_part(results.runs, f"gain: {fewer} pairs ≥ {more} pairs", gain))
    return parts


def more_unknown_symbols(results: Results, vectors: str) -> Parts:
    """Whether the mixtures write the unknown symbol more often than the baseline."""
    parts = []
    for size in results.sizes:
        base = results.unknown_symbols(Arm("baseline", size))
        for setting in ("mix_sum", "mix_gate"):
            mixed = results.unknown_symbols(Arm(setting, size, vectors))
            differences = [mixed[seed] - base[seed] for seed in sorted(base.keys() & mixed.keys())]
            parts.append(same_sign(f"{size} pairs: {setting} > baseline", differences))
    return parts


def in_domain_better(results: Results) -> Parts:
    """Whether vectors of the same domain are at least as good as others, everywhere."""
    first, *others = results.kinds
    return [
        above(results, Arm(setting, size, first), Arm(setting, size, other))
        for other in others
        for size in results.sizes
        for setting in SETTINGS[1:]
    ]


def fewest_unknown_to_both(folder: Path) -> Parts:
    """Whether no text has more words unknown to both sides than to either (by construction)."""
    parts = []
    for path in sorted(folder.glob("unknown_words.*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [line.strip("| ").split(" | ") for line in lines[2:5]]
        internal, external, both = (list(map(int, numbers)) for _, *numbers in rows)
        least = all(b <= min(i, e) for b, i, e in zip(both, internal, external, strict=True))
        parts.append(Part(path.name, HOLDS if least else FAILS, f"{both}, {internal}, {external}"))
    return parts


def claims_of(results: Results, folder: Path) -> list[Claim]:
    """The paper's claims, and what becomes of each."""
    vectors, (small, *_, large) = results.kinds[0], [*results.sizes, results.sizes[-1]]
    best_first = ("mix_sum", "mix_gate", "only_external", "baseline")
    with_much_data = ("baseline", "mix_gate", "mix_sum", "only_external")
    found = {
        f"{small} pairs: mix_sum > mix_gate > only_external > baseline": ordered(
            results, small, vectors, best_first
        ),
        "BLEU(mix_sum) - BLEU(baseline) falls with the number of pairs": gain_falls(
            results, vectors
        ),
        f"{large} pairs: baseline >= mix_gate >= mix_sum > only_external": ordered(
            results, large, vectors, with_much_data
        ),
        "unknown to both <= min(internal, external); a check": fewest_unknown_to_both(folder),
        "unknown symbols written: mix_sum, mix_gate > baseline": more_unknown_symbols(
            results, vectors
        ),
        "in-domain vectors >= others": in_domain_better(results),
    }
    return [Claim(n, text, parts) for n, (text, parts) in enumerate(found.items(), start=1)]


def markdown(results: Results, claims: Sequence[Claim], missing: Sequence[str]) -> Iterator[str]:
    """The page."""
    yield "# External monolingual embeddings (Di Gangi & Federico 2017)\n"
    yield "| BLEU | " + " | ".join(f"{size} pairs" for size in results.sizes) + " |"
    yield "|---|" + "---|" * len(results.sizes)
    for label, arms in lines_of(results):
        cells = [mean_and_deviation(list(results.bleu(arm).values())) for arm in arms]
        yield f"| {label} | " + " | ".join(cells) + " |"
    yield "\n| the paper's claim | here |\n|---|---|"
    for claim in claims:
        yield f"| {claim.number}. {claim.text} | {claim.verdict} |"
    yield "\n| claim | inequality | verdict | numbers |\n|---|---|---|---|"
    for claim in claims:
        for part in claim.parts:
            yield f"| {claim.number} | {part.inequality} | {part.verdict} | {part.numbers} |"
    yield (
        "\nDifferences in BLEU stand with the 95% interval of 1,000 resamples of the test set (and "
        "of the seeds). *Undecided*: the interval contains 0, or one seed and less than "
        f"{SMALLEST} points. The data is far below the paper's: a claim that fails here says "
        "something of scale and refutes nothing.\n"
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
        claims = claims_of(results, folder)
    except ValueError as error:
        print(f"claims: {error}", file=sys.stderr)
        return 2
    missing = report.not_run(list(results.rows.values()), options.arms, options.seeds)
    text = "\n".join(markdown(results, claims, missing))
    scoring.write_lines(folder / "claims.md", text.split("\n"))
    verdicts = {f"{claim.number}. {claim.text}": claim.verdict for claim in claims}
    facts = {"claims": verdicts, "parts": as_json(claims), "not_run": missing}
    content = json.dumps(facts, indent=2, ensure_ascii=False)
    scoring.write_lines(folder / "claims.json", content.split("\n"))
    print(text)
    print(f"{folder / 'claims.md'}\n{folder / 'claims.json'}")
    drawn = plot(results, folder / "bleu_by_size.png")
    print(folder / "bleu_by_size.png" if drawn else "no plot: matplotlib is not installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
