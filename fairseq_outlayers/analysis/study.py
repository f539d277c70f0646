"""Commands that measure the word vectors of checkpoints: a table or JSON, and a plot."""

import argparse
import json
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from fairseq_outlayers.analysis import checkpoints, plots
from fairseq_outlayers.analysis.text_files import markdown_table
from fairseq_outlayers.commands.base import Command

Points = Tuple[Sequence[float], Sequence[float]]


class Finding(NamedTuple):
    """What is found of one part of a model: a row of the table and a curve of the plot.

    Attributes:
        facts: numbers and names by heading, the same headings in every row.
        curve: horizontal and vertical coordinates.
    """

    facts: Dict[str, Any]
    curve: Points


Study = Callable[[checkpoints.Trained], Iterator[Finding]]


def study_command(study: Study, axes: Tuple[str, str], summary: str, example: str) -> Command:
    """A command that makes a study of every checkpoint that it is given.

    Args:
        study: of one model.
        axes: labels of the plot.
        summary: of the command, as the example.
    """

    def run(options: argparse.Namespace) -> None:
        rows, curves = [], []
        for path in options.checkpoints:
            model = {"model": checkpoints.run_name(path)}
            for facts, curve in study(checkpoints.load(path, options.data)):
                rows.append(model | facts)
                names = [value for value in rows[-1].values() if isinstance(value, str)]
                curves.append((", ".join(names), *curve))
        print(json.dumps(rows, indent=2, ensure_ascii=False) if options.json else _table(rows))
        if options.plot:
            plots.draw(curves, axes, options.plot)

    return Command(summary, example, add_arguments, run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every study takes."""
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT")
    checkpoints.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    plots.add_arguments(parser)


def _table(rows: List[Dict[str, Any]]) -> str:
    cells = [[_shown(value) for value in row.values()] for row in rows]
    return markdown_table([list(rows[0]), *cells])


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
