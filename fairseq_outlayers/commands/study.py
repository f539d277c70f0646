"""Shared code of commands that measure word vectors of checkpoints."""

import argparse
import importlib
import json
from typing import Any, Dict, List, Sequence, Tuple

from fairseq_outlayers.commands import plots
from fairseq_outlayers.commands.base import Command, add_checkpoints, add_data_argument
from fairseq_outlayers.commands.tables import markdown_table, model_names


def study_command(study: str, axes: Tuple[str, str], example: str) -> Command:
    """A command that runs a study on every given checkpoint.

    Args:
        study: module in ``analysis/`` with a function ``study`` of one model, that yields the
            cells of a row by heading, and ``(xs, ys)`` of a curve.
        axes: labels of the plot.
        example: of the command.
    """

    def run(options: argparse.Namespace) -> None:
        from fairseq_outlayers.checkpoints import loading

        measure = importlib.import_module(f"fairseq_outlayers.analysis.{study}").study
        rows: List[Dict[str, Any]] = []
        curves = []
        models = _model_cells(options.checkpoints)
        seeds = [loading.run_seed(path) for path in options.checkpoints]
        with_seeds = any(seed is not None for seed in seeds)
        for path, model, seed in zip(options.checkpoints, models, seeds, strict=True):
            for facts, curve in measure(loading.load(path, options.data)):
                rows.append(model | facts | ({"seed": seed} if with_seeds else {}))
                names = [value for value in rows[-1].values() if isinstance(value, str)]
                curves.append((", ".join(names), *curve))
        print(json.dumps(rows, indent=2, ensure_ascii=False) if options.json else _table(rows))
        if options.plot:
            plots.draw(curves, axes, options.plot)

    return Command(example, add_arguments, run)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of all studies."""
    add_checkpoints(parser, "trained models")
    add_data_argument(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    plots.add_arguments(parser)


def _model_cells(checkpoints: Sequence[str]) -> List[Dict[str, Any]]:
    """The first cells of each model's rows, by heading."""
    from fairseq_outlayers.checkpoints.loading import run_name

    runs, names = [run_name(path) for path in checkpoints], model_names(checkpoints)
    if names == runs:
        return [{"model": run} for run in runs]
    # "model" stays the run's name: a recipe groups the seeds of an arm by it.
    return [{"model": run, "checkpoint": name} for run, name in zip(runs, names, strict=True)]


def _table(rows: List[Dict[str, Any]]) -> str:
    cells = [[_shown(value) for value in row.values()] for row in rows]
    return markdown_table([list(rows[0]), *cells])


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
