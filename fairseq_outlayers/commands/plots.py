"""Plots by matplotlib, if it is installed."""

import argparse
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Sequence

from fairseq_outlayers.errors import UserError, is_writable_folder

if TYPE_CHECKING:
    from fairseq_outlayers.analysis.neighbours import WordMap

FORMATS = (".svg", ".png", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--plot``, for :func:`draw` and :func:`draw_maps`."""
    parser.add_argument(
        "--plot", type=figure_path, metavar="FILE", help="also draw a plot: FILE.svg, .png or .pdf"
    )


def figure_path(text: str) -> str:
    """The path of a figure to be written, which does not exist."""
    if Path(text).suffix not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} must end in {', '.join(FORMATS)}")
    if not Path(text).parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: no folder {Path(text).parent}; create it first")
    if Path(text).exists():
        raise argparse.ArgumentTypeError(f"{text} exists; remove it, or give another name")
    if not is_writable_folder(Path(text).parent):
        raise argparse.ArgumentTypeError(f"{text}: the folder is not writable; name another")
    return text


def draw(curves: List[Any], labels: Sequence[str], path: str) -> None:
    """Draw curves ``(name, xs, ys)`` into a file; ``labels`` are those of the axes.

    Raises:
        UserError: if matplotlib is missing.
    """
    figure, axes = _pyplot(path).subplots(figsize=(6, 4), layout="constrained")
    for name, xs, ys in curves:
        axes.plot(xs, ys, label=name)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.legend()
    _save(figure, path)


def draw_maps(maps: Sequence["WordMap"], path: str) -> None:
    """Draw maps side by side, two in a row, with a colour for each group.

    Raises:
        UserError: if matplotlib is missing.
    """
    columns = min(len(maps), 2)
    rows = -(-len(maps) // columns)
    figure, panels = _pyplot(path).subplots(
        rows, columns, figsize=(6 * columns, 4 * rows), layout="constrained", squeeze=False
    )
    for panel in panels.flat[len(maps) :]:
        panel.axis("off")
    for panel, (title, groups) in zip(panels.flat, maps, strict=False):
        panel.set(title=title, xticks=[], yticks=[])
        panel.margins(x=0.2, y=0.1)  # room for the words
        for number, words in enumerate(groups.values()):
            colour = f"C{number % 10}"
            for word, x, y in words:
                panel.plot(x, y, ".", color=colour)
                panel.annotate(word, (x, y), color=colour, fontsize=8, parse_math=False)
    _save(figure, path)


def _pyplot(path: str) -> Any:
    # Importing fairseq enables debug logging of all libraries; matplotlib logs every font.
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise UserError(
            f"--plot {path}: matplotlib is not installed; pip install 'fairseq-outlayers[report]'"
        ) from None
    matplotlib.use("agg")
    matplotlib.rcParams["svg.fonttype"] = "none"  # keeps text as text, and the file small
    from matplotlib import pyplot

    return pyplot


def _save(figure: Any, path: str) -> None:
    figure.savefig(path)
    # stderr, because the table on stdout may be redirected.
    print(path, file=sys.stderr)
