"""METEOR by how often training has seen the words: the paper's Figure 3, and what decides claim 6.

    python recipes/pappas2018_joint/frequency_bins.py results/pappas2018/ledger.jsonl \\
        --arms de-en.bpe4000.nmt de-en.bpe4000.joint128 --training-text tokenized/train.en \\
        --language en --output results/pappas2018/frequency_bins.de-en

Scores the translations of every arm that was run, whole words by their training count, and writes
the table to OUTPUT.txt and the figures to OUTPUT.json.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

# The recipes' shared parts, and the package, which need not be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(1, str(Path(__file__).resolve().parents[2]))

import numpy as np

import comparison
import ledger
import scoring
from fairseq_outlayers.evaluation.frequency_bins import Bins, bins_by_count
from fairseq_outlayers.evaluation.meteor import PARAMETERS, MatchStatistics, MeteorParameters
from resampling import interval, multiplicities
from verdicts import NOT_RUN, Part, Runs, in_words, verdict_of

MODULE = "fairseq_outlayers.evaluation.frequency_bins"


def bins_of(training_text: Path) -> Bins:
    """Words by their count in a text."""
    return bins_by_count(Counter(training_text.read_text(encoding="utf-8").split()))


def resampled_meteor(
    hypotheses: Sequence[str], references: Sequence[str], bins: Bins, parameters: MeteorParameters
) -> dict[str, np.ndarray]:
    """METEOR from 0 to 100 of every bin: on the whole test set, then on each of its resamples."""
    groups = range(len(bins.names))
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        one = MatchStatistics([hypothesis.split()], [reference.split()], bins.bin_of)
        counts = (one.hypothesis_words, one.reference_words, one.matches)
        rows.append([*(count[group] for count in counts for group in groups), one.chunks])
    sentences = np.array(rows)
    resamples = np.concatenate([np.ones((1, len(rows)), dtype=np.int64), multiplicities(len(rows))])
    scores = [_meteor(sums, bins, parameters) for sums in (resamples @ sentences).tolist()]
    return {
        name: np.array([score[group] for score in scores]) for group, name in enumerate(bins.names)
    }


def _meteor(sums: list[int], bins: Bins, parameters: MeteorParameters) -> list[float]:
    """Of every bin, from the sums over some sentences."""
    groups = len(bins.names)
    total = MatchStatistics([], [], bins.bin_of)
    parts = (total.hypothesis_words, total.reference_words, total.matches)
    for number, counts in enumerate(parts):
        counts.update(dict(enumerate(sums[number * groups : (number + 1) * groups])))
    total.chunks = sums[-1]
    return [100 * (total.scores(parameters, group).meteor or 0.0) for group in range(groups)]


def translations_of(runs: Runs, arm: str) -> tuple[Path, Path] | None:
    """Where the words of an arm's first seed are, and the references; None if not here."""
    if arm not in runs:
        return None
    entry = runs.entry(arm, runs.seeds([arm])[0])
    folder = ledger.ROOT / entry["run"]
    paths = folder / "test.tokenised.hyp", folder / "test.tokenised.ref"
    return paths if comparison.translations(entry, "tokenised") else None


def gains_by_frequency(
    runs: Runs, joint: str, others: Sequence[str], training_text: Path | None
) -> list[Part]:
    """Claim 6 for one direction: METEOR of one seed, with intervals of resampled test sets."""
    language = joint.split(".")[0].split("-")[1]
    names = [joint, *others]
    paths = {arm: translations_of(runs, arm) for arm in names}
    inequality = f"METEOR by frequency: {joint} against {' and '.join(others)}"
    missing = [arm for arm, found in paths.items() if found is None]
    if language not in PARAMETERS:
        return []
    if missing or training_text is None or not training_text.exists():
        return [Part(inequality, NOT_RUN, f"missing: {', '.join(missing) or 'training text'}")]
    bins = bins_of(training_text)
    meteor = {}
    for arm, (hypotheses, references) in paths.items():
        texts = scoring.read_lines(hypotheses), scoring.read_lines(references)
        meteor[arm] = resampled_meteor(*texts, bins, PARAMETERS[language])
    high, middle, low = bins.names[:3]
    parts = []

    def part(inequality: str, scores: np.ndarray) -> None:
        found = interval(float(scores[0]), scores[1:])
        parts.append(Part(inequality, verdict_of(found, seeds=1), in_words(found, seeds=1)))

    for other in others:
        gain = {name: meteor[joint][name] - meteor[other][name] for name in bins.names}
        for name in (high, low):
            part(f"METEOR({joint}) ≥ METEOR({other}), words seen {name} times", gain[name])
        for name in (middle, low):
            text = f"gain over {other}: words seen {high} times ≥ {name} times"
            part(text, gain[high] - gain[name])
    return parts


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--arms", nargs="+", required=True, help="those not run are left out")
    parser.add_argument("--training-text", required=True, help="words of the target language")
    parser.add_argument("--language", required=True, help="of the target")
    parser.add_argument("--output", required=True, help="of the files, without .txt and .json")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Score the arms by the package's own command, as a table and as JSON."""
    options = parse_arguments(arguments)
    runs = Runs(ledger.read(options.ledger))
    found = {arm: translations_of(runs, arm) for arm in options.arms}
    here: Mapping[str, tuple[Path, Path]] = {arm: paths for arm, paths in found.items() if paths}
    if options.language not in PARAMETERS or not here:
        reason = f"METEOR has no parameters for {options.language}" if here else "no arm was run"
        print(f"  {options.output}: left out, {reason}")
        return 0
    command = [sys.executable, "-m", MODULE, "--language", options.language]
    command += ["--training-text", options.training_text]
    command += ["--reference", str(next(iter(here.values()))[1])]
    command += ["--hypothesis", *(str(hypothesis) for hypothesis, _ in here.values())]
    for ending, more in ((".txt", []), (".json", ["--json"])):
        ended = subprocess.run([*command, *more], capture_output=True, text=True, cwd=ledger.ROOT)
        if ended.returncode:
            print(ended.stderr.strip(), file=sys.stderr)
            return 1
        scoring.write_lines(Path(options.output + ending), ended.stdout.rstrip("\n").split("\n"))
        print(f"  {options.output}{ending}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
