"""The one style of all figures of recipes: sizes, fonts and colours."""

import logging
import textwrap

WIDTH = 7.2  # inches of a figure with one panel; a README shows about 860 pixels
PANEL = 4.2  # inches of each panel, where there are several
HEIGHT, ROW = 3.6, 0.27  # inches: of a panel, and of a row in a panel of rows
PIXELS = 120  # per inch, in PNG
TITLE, TEXT, SMALL = 12, 9.5, 8  # points
INK, GREY, RULE = "#1a1a1a", "#6b6b6b", "#e0e0e0"
# Okabe and Ito's colours, which differ for every kind of sight; the first is for what is studied.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8a6d00", "#56B4E9", "#1a1a1a", "#6b6b6b")
PARAMETERS = {
    # Text stays text: an SVG is small, can be searched and read aloud.
    "svg.fonttype": "none",
    "svg.hashsalt": "recipes",  # the same figure is the same file
    "font.family": "sans-serif",
    # Verdana is as wide, where a browser has no DejaVu.
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
    """Of a series, by its place."""
    return COLOURS[number % len(COLOURS)]


def wrapped(text: str, inches: float, points: float, bold: bool = False) -> str:
    """A text in lines that a figure so wide holds."""
    # A letter of this font is a little over half as wide as high; bold ones are wider.
    width = (0.68 if bold else 0.58) * points
    return "\n".join(textwrap.wrap(text, int(inches * 72 / width)))


def quiet() -> None:
    """No debugging messages of matplotlib: fairseq makes every library talk."""
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
