"""The claims of Assylbekov & Takhanov (2018): what holds, fails or is undecided by the ledger.

    python recipes/assylbekov2018_subword_lm/claims.py results/assylbekov2018/ledger.jsonl \\
        --texts ptb=work/assylbekov2018_subword_lm/text/ptb.6000.txt

Claims 1 to 7 compare test perplexities (lower is better) on one data set, each arm's mean over its
seeds against the other's; 8 and 9 the figures of 50_word_vectors.sh beside the ledger. An
inequality is undecided where single seeds differ by less than 1%, or where the ranges of several
seeds overlap. Writes claims.md and claims.json beside the ledger and, with matplotlib, a plot of
the gain against the type-token ratio.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ledger
import scoring
from assylbekov2018_subword_lm import gain, word_vectors
from assylbekov2018_subword_lm.inequalities import less
from recorded_runs import Runs
from verdicts import NOT_RUN, Claim, Part, as_json, markdown

MODELS = ("morphsum", "sylconcat", "charcnn")
ENDINGS = ("", ".sampled", ".medium")
FIRST = {"morphsum": "E", "sylconcat": "EP", "charcnn": "EC"}  # all that is below hw1
TEXTS = {
    1: "Reusing embeddings helps the word model.",
    2: "Reusing harms CharCNN.",
    3: "RE+RW is better than RW alone; reusing nothing, and RW alone, are worse than original.",
    4: "MorphSum+RE+RW is better than Word+RE, with fewer parameters.",
    5: "Layers should be tied bottom-up: E1 before E2, anything with E before the same without.",
    6: "Leaving the last layer (hw2) free is better than tying all.",
}
LOOKED_INTO = ("transform_gates", "principal_components", "neighbours")
NOTES = (
    "Numbers are test perplexities, the first that of the arm on the left of `<`; shares of "
    "perplexity for claim 7, mean gates for 8 (SylConcat's halved), components for 9.",
    "The layers below hw1 are tied together in EP and EC, apart in the names without P and C.",
)


class Comparison(NamedTuple):
    """``better`` is claimed to have the smaller figure."""

    claim: int
    better: str
    worse: str
    figure: str = "test_ppl"


def comparisons() -> Iterator[Comparison]:
    """The inequalities of claims 1 to 6."""
    yield Comparison(1, "word_re", "word_original")
    for row in ("none", "re", "rw", "re_rw"):
        yield Comparison(2, "charcnn_original", f"charcnn_{row}")
    for model in MODELS:
        yield Comparison(3, f"{model}_re_rw", f"{model}_rw")
        for row in ("none", "rw"):
            yield Comparison(3, f"{model}_original", f"{model}_{row}")
    yield Comparison(4, "morphsum_re_rw", "word_re")
    yield Comparison(4, "morphsum_re_rw", "word_re", "parameters")
    for model in MODELS:
        first = FIRST[model]
        yield Comparison(5, f"{model}_{first}1", f"{model}_{first}2")
        # The same with and without the units' vectors.
        yield Comparison(5, f"{model}_re", f"{model}_none")
        yield Comparison(5, f"{model}_{first}1", f"{model}_{first[1:]}1")
        yield Comparison(5, f"{model}_re_rw", f"{model}_rw")
        yield Comparison(6, f"{model}_{first}1", f"{model}_re_rw")
    for model in ("sylconcat", "charcnn"):
        yield Comparison(5, f"{model}_{FIRST[model]}1", f"{model}_1")
        yield Comparison(5, f"{model}_re_rw", f"{model}_12")
        yield Comparison(5, f"{model}_E1", f"{model}_1")
        yield Comparison(5, f"{model}_E12", f"{model}_12")


def parts(runs: Runs, comparison: Comparison) -> Iterator[Part]:
    """An inequality on every data set that has both arms; what is missing if none has."""
    _, better, worse, figure = comparison
    count = figure == "parameters"  # exact, and the same for every seed
    found = False
    for data in sorted({arm.partition(".")[0] for arm in runs.arms}):
        for ending in ENDINGS:
            arms = [f"{data}.{model}{ending}" for model in (better, worse)]
            values = [runs.values(arm, figure) for arm in arms]
            if all(values):
                found = True
                values = [numbers[:1] for numbers in values] if count else values
                words = f"{arms[0]} < {arms[1]}" + (", parameters" if count else "")
                yield less(words, *values, *((",.0f", 0) if count else ()))
    if not found:
        yield Part(f"{better} < {worse}", NOT_RUN)


def claims(runs: Runs, found: Mapping[str, gain.Gain], results: Path) -> list[Claim]:
    """All nine.

    Args:
        found: the gains of claim 7.
        results: the folder with the figures of 50_word_vectors.sh.
    """
    by_number: dict[int, list[Part]] = {number: [] for number in TEXTS}
    for comparison in comparisons():
        by_number[comparison.claim] += parts(runs, comparison)
    return [
        *(Claim(number, TEXTS[number], by_number[number]) for number in TEXTS),
        gain.claim(found),
        word_vectors.gate_claim(word_vectors.read(results, "transform_gates")),
        word_vectors.component_claim(word_vectors.read(results, "principal_components")),
    ]


def image(plot: Path) -> list[str]:
    """A plot in Markdown, if it was drawn."""
    return [f"![]({plot.name})", ""] if plot.exists() else []


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    parser.add_argument(
        "--texts", nargs="*", default=[], metavar="DATA=FILE", help="training texts, for claim 7"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Write the claims and the plot, and print the verdicts."""
    options = parse_arguments(arguments)
    entries, results = ledger.read(options.ledger), options.ledger.parent
    if not entries:
        print(f"claims: {options.ledger} is missing or empty: run an arm first", file=sys.stderr)
        return 2
    runs = Runs(entries)
    texts = {data: Path(path) for data, _, path in (text.partition("=") for text in options.texts)}
    found = gain.gains(runs, texts)
    decided = claims(runs, found, results)
    lines = markdown("The paper's claims", decided, NOTES).split("\n")
    if found:
        plot = results / "gain_against_type_token_ratio.svg"
        gain.plot(found, plot)
        lines += ["## Gain of claim 7", "", *gain.table(found), "", *image(plot)]
    for path in (path for name in LOOKED_INTO for path in sorted(results.glob(f"{name}.*.txt"))):
        table = path.read_text(encoding="utf-8").rstrip("\n")
        shown = [table] if table.startswith("|") else ["```", table, "```"]
        lines += [f"## {path.stem}", "", *shown, "", *image(path.with_suffix(".svg"))]
    scoring.write_lines(results / "claims.md", lines)
    scoring.write_lines(results / "claims.json", [json.dumps(as_json(decided), indent=2)])
    for claim in decided:
        print(f"  {claim.verdict:10} {claim.number}. {claim.text}")
    if found:
        print("\n".join(["", *gain.table(found), ""]))
    print(f"  {results / 'claims.md'}\n  {results / 'claims.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
