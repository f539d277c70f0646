"""Plots, where matplotlib is installed."""

import argparse
import sys
from typing import Any, List, Sequence

from fairseq_outlayers.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--plot``, whose value :func:`draw` takes."""
    parser.add_argument("--plot", metavar="FILE", help="draw a plot too: FILE.svg, .png or .pdf")


def draw(curves: List[Any], labels: Sequence[str], path: str) -> None:
    """Lines of points ``(name, xs, ys)`` into a file; ``labels`` are those of the axes.

    Raises:
        UserError: if matplotlib is missing.
    """
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise UserError(
            f"--plot {path}: matplotlib is not installed; pip install 'fairseq-outlayers[report]'"
        ) from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for name, xs, ys in curves:
        axes.plot(xs, ys, label=name)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.legend()
    figure.savefig(path)
    # Not on standard output, where the table may go into a file.
    print(path, file=sys.stderr)
