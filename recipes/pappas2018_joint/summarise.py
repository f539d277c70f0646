"""Decides the paper's claims from a ledger, and draws its figures; writes all beside the ledger.

    python recipes/pappas2018_joint/summarise.py results/pappas2018/ledger.jsonl \\
        --directions de-en en-de --vocabulary bpe4000 ...       as 90_report.sh calls it

Makes claims.md, claims.json, and two figures if matplotlib is there.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import ledger
import scoring
from pappas2018_joint import figures
from pappas2018_joint.axes import Arms, Axes
from pappas2018_joint.claims import CLAIMS
from recorded_runs import Runs
from verdicts import SMALLEST, as_json, markdown

NOTES = (
    "Differences in BLEU (METEOR in claim 6) stand with the 95% interval of 1,000 resamples of the"
    f" test set. Undecided: the interval contains 0, or one seed and less than {SMALLEST} points.",
    f"≈ holds if the whole interval is within {SMALLEST} points.",
    "Claim 4 compares arms that took turns, and gives the ratio of every round.",
)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line: the axes of arms.sh."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--directions", nargs="+", required=True)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--vocabularies", nargs="+", required=True, help="from small to large")
    parser.add_argument("--sampling-vocabulary", required=True)
    for axis in ("joint-dims", "sweep-dims", "shares", "depths"):
        parser.add_argument(f"--{axis}", nargs="+", type=int, required=True)
    parser.add_argument("--layers", type=int, required=True, help="of arms without a depth")
    parser.add_argument(
        "--training-texts",
        nargs="*",
        default=[],
        metavar="DIRECTION=FILE",
        help="words of the target language",
    )
    parser.add_argument("--note", default="", help="to put above the others")
    return parser.parse_args(arguments)


def speeds_of(file: Path) -> dict[str, list[float]]:
    """Tokens a second of each arm, a value a round, from what speed.py wrote."""
    if not file.exists():
        return {}
    return {row["arm"]: row["rounds"] for row in json.loads(file.read_text())["rows"]}


def arms_of(options: argparse.Namespace) -> Arms:
    """What was run, and what was measured in turns."""
    axes = {name: value for name, value in vars(options).items() if name not in ("ledger", "note")}
    texts = dict(pair.split("=", 1) for pair in axes.pop("training_texts"))
    found = Axes(
        **axes,
        speeds=speeds_of(options.ledger.parent / "speed.json"),
        training_texts={direction: Path(text) for direction, text in texts.items()},
    )
    return Arms(found, Runs(ledger.read(options.ledger)))


def write_claims(arms: Arms, folder: Path, note: str) -> list[Path]:
    """Decide every claim, write both files and print the verdicts."""
    found = [claim(arms) for claim in CLAIMS]
    chosen = [
        f"d_j chosen by validation perplexity, {direction}: {arms.chosen_joint(direction)}"
        for direction in arms.axes.directions
    ]
    notes = [*filter(None, [note]), *NOTES, *chosen]
    files = {
        folder / "claims.md": markdown("Claims of Pappas et al. (2018)", found, notes),
        folder / "claims.json": json.dumps(as_json(found), indent=2, ensure_ascii=False),
    }
    for file, content in files.items():
        scoring.write_lines(file, content.rstrip("\n").split("\n"))
    for claim in found:
        print(f"  {claim.number}. {claim.verdict:10} {claim.text}")
    return list(files)


def main(arguments: list[str] | None = None) -> int:
    """Write the claims and the figures."""
    options = parse_arguments(arguments)
    folder = options.ledger.parent
    try:
        arms = arms_of(options)
        files = write_claims(arms, folder, options.note)
    except ValueError as error:
        print(f"summarise: {error}", file=sys.stderr)
        return 2
    try:
        files += figures.draw(arms, folder)
    except ImportError:
        print("  no figures: they need matplotlib (pip install 'fairseq-outlayers[report]')")
    print("\n".join(map(str, files)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
