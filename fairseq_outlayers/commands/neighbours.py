"""Print the nearest neighbours of words in the input and in the output space of models."""

import argparse
import json
from typing import TYPE_CHECKING, Dict

from fairseq_outlayers.commands import plots
from fairseq_outlayers.commands.base import Command, add_checkpoints, add_data_argument
from fairseq_outlayers.commands.tables import model_names, table
from fairseq_outlayers.errors import UserError

if TYPE_CHECKING:
    from fairseq_outlayers.analysis.neighbours import Neighbours


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoints(parser, "one model or several")
    add_data_argument(parser)
    parser.add_argument("--words", required=True, nargs="+", metavar="WORD", help="of the target")
    parser.add_argument(
        "--number", type=int, default=5, metavar="N", help="neighbours of each word (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    plots.add_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print the neighbours in both spaces of each model."""
    from fairseq_outlayers.analysis.neighbours import neighbours, word_maps
    from fairseq_outlayers.checkpoints import loading

    if options.number < 1:
        raise UserError(f"--number {options.number}: must be at least 1")
    report, drawn = {}, []
    names = model_names(options.checkpoints)
    for name, path in zip(names, options.checkpoints, strict=True):
        trained = loading.load(path, options.data)
        found = report[path] = neighbours(trained, options.words, options.number)
        if options.plot:
            drawn += word_maps(trained, name, found)
        if not options.json:
            print(f"{path}: {type(trained.output_layer).__name__}\n\n{_table(found)}\n")
    if options.json:
        dictionaries = {
            path: {word: lists._asdict() for word, lists in found.items()}
            for path, found in report.items()
        }
        print(json.dumps(dictionaries, indent=2, ensure_ascii=False))
    if options.plot:
        plots.draw_maps(drawn, options.plot)


def _table(found: Dict[str, "Neighbours"]) -> str:
    rows = [("word", "input space", "output space", "in both")]
    for word, lists in found.items():
        for rank, pair in enumerate(zip(lists.input, lists.output, strict=True)):
            at_input, at_output = (f"{cosine:.2f} {neighbour}" for neighbour, cosine in pair)
            first = (word, str(lists.shared)) if rank == 0 else ("", "")
            rows.append((first[0], at_input, at_output, first[1]))
    return table(rows, left=3)


COMMAND = Command(
    example="tied.pt joint.pt --data data-bin --words haus gut",
    add_arguments=add_arguments,
    run=run,
)
