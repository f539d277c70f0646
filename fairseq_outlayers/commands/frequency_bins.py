"""Print scores of translations by the training frequency of their words."""

import argparse
import json
from collections import Counter
from typing import Dict, List, Optional, Sequence

from fairseq_outlayers.analysis.frequency_bins import ALL, BIN_DEFINITIONS, Bins, scores_by_bin
from fairseq_outlayers.analysis.meteor import (
    PARAMETERS,
    MatchStatistics,
    MeteorParameters,
    Scores,
)
from fairseq_outlayers.commands.base import Command
from fairseq_outlayers.commands.tables import short_names, table
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.text import read_parallel_words, read_words
from fairseq_outlayers.ranges import Range

SHARE, EXPONENT = Range(at_least=0, at_most=1), Range(at_least=0, at_most=100)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reference", required=True, metavar="FILE", help="one sentence a line")
    parser.add_argument(
        "--hypothesis",
        required=True,
        nargs="+",
        metavar="FILE",
        help="translations by one or more systems, in the order of the reference",
    )
    parser.add_argument(
        "--training-text", required=True, metavar="FILE", help="the target side of the training set"
    )
    parser.add_argument(
        "--bins",
        choices=list(BIN_DEFINITIONS),
        default="counts",
        help="by training count (>=100, 10-99, 1-9, 0), or thirds of the training set's types as "
        "in Pappas et al. (2018), and the unseen words (default: counts)",
    )
    tuning = parser.add_mutually_exclusive_group(required=True)
    tuning.add_argument(
        "--language", choices=sorted(PARAMETERS), help="use METEOR's parameters of this language"
    )
    tuning.add_argument(
        "--parameters",
        nargs=4,
        type=float,
        metavar=tuple(name.upper() for name in MeteorParameters._fields),
        help="METEOR parameters of another language",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _meteor_parameters(options: argparse.Namespace) -> MeteorParameters:
    if options.parameters is None:
        return PARAMETERS[options.language]
    parameters = MeteorParameters(*options.parameters)
    for name, value in parameters._asdict().items():
        limits = EXPONENT if name == "beta" else SHARE
        if value not in limits:
            raise UserError(f"--parameters: {name} is {value:g}, must be {limits}")
    return parameters


def run(options: argparse.Namespace) -> None:
    """Print the scores of every system in every bin."""
    parameters = _meteor_parameters(options)
    counts = Counter(word for line in read_words(options.training_text) for word in line)
    if not counts:
        raise UserError(f"--training-text {options.training_text}: has no words")
    bins = BIN_DEFINITIONS[options.bins](counts)
    references = list(read_words(options.reference))
    systems = [(path, read_parallel_words(options.reference, path)) for path in options.hypothesis]
    statistics = [MatchStatistics(system, references, bins.bin_of) for _, system in systems]
    scores = [scores_by_bin(sums, bins, parameters) for sums in statistics]
    if options.json:
        print(json.dumps(_report(options, parameters, bins, scores), indent=2))
    else:
        print(_table(options.hypothesis, bins, scores))


def _report(
    options: argparse.Namespace,
    parameters: MeteorParameters,
    bins: Bins,
    scores: Sequence[Dict[str, Scores]],
) -> dict:
    return {
        "reference": options.reference,
        "training_text": options.training_text,
        "bins": options.bins,
        "types": dict(zip(bins.names, bins.types(), strict=True)),
        "parameters": parameters._asdict(),
        "systems": [
            {
                "hypothesis": path,
                "scores": {name: score._asdict() for name, score in of_system.items()},
            }
            for path, of_system in zip(options.hypothesis, scores, strict=True)
        ],
    }


def _table(paths: Sequence[str], bins: Bins, scores: Sequence[Dict[str, Scores]]) -> str:
    heading = ("bin", "system", "types", "reference", "hypothesis", "matches",
               "precision", "recall", "F1", "METEOR")  # fmt: skip
    types = dict(zip(bins.names, bins.types(), strict=True))
    rows: List[Sequence[str]] = [heading]
    for name in [*bins.names, ALL]:
        for system, of_system in zip(short_names(paths), scores, strict=True):
            score = of_system[name]
            sizes = (types.get(name, sum(types.values())), *score[:3])
            numbers = [f"{size:,}" for size in sizes] + [_decimals(value) for value in score[3:]]
            rows.append((name, system, *numbers))
    return table(rows, left=2)


def _decimals(value: Optional[float]) -> str:
    return "-" if value is None else f"{value:.4f}"


COMMAND = Command(
    example="--reference test.de --hypothesis tied.hyp joint.hyp --training-text train.de "
    "--language de",
    add_arguments=add_arguments,
    run=run,
)
