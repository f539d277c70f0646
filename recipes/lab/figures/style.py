"""The style of all figures: sizes, fonts and colors."""

import logging
import textwrap
from pathlib import Path
from typing import Any

WIDTH = 7.2  # inches of a figure with one panel; a README shows about 860 pixels
PANEL, WIDEST = 4.2, 9.6  # inches of each of several panels, and of all of them at most
HEIGHT, ROW = 3.6, 0.27  # inches: of a panel, and of a row in a panel of rows
PIXELS = 120  # per inch, in PNG
TITLE, TEXT, SMALL = 12, 9.5, 8  # points
INK, GREY, RULE = "#1a1a1a", "#6b6b6b", "#e0e0e0"
# Okabe and Ito's colors, safe for color blindness; the first is for the subject of the study.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8a6d00", "#56B4E9", "#1a1a1a", "#6b6b6b")
PARAMETERS = {
    # Keeps text as text: smaller, searchable, accessible.
    "svg.fonttype": "none",
    "svg.hashsalt": "recipes",  # makes files reproducible
    "font.family": "sans-serif",
    # Verdana has the same width, for browsers without DejaVu.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    "axes.titlelocation": "left",
    "axes.labelsize": TEXT,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "figure.facecolor": "white",
    "text.parse_math": False,
}


def colour(number: int) -> str:
    """The color of a series, by its index."""
    return COLOURS[number % len(COLOURS)]


def wrapped(text: str, inches: float, points: float, bold: bool = False) -> str:
    """A text wrapped to a width."""
    # Characters are a little over half as wide as high; bold ones are wider.
    width = (0.68 if bold else 0.58) * points
    return "\n".join(textwrap.wrap(text, int(inches * 72 / width)))


def save(figure: Any, path: Path) -> None:
    """Save a figure as SVG or PNG, without what changes from one drawing to the next."""
    changing = {".svg": ("Date", "Creator"), ".png": ("Software",)}.get(path.suffix, ())
    figure.savefig(path, dpi=PIXELS, metadata=dict.fromkeys(changing))


def quiet() -> None:
    """Turn off matplotlib's debug messages, which fairseq's logging enables."""
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
