"""Draw the chart of README.md from the results of benchmarks/large_vocabulary.py.

    python benchmarks/chart.py

Target tokens per second of fairseq-train by number of words, one line per arm, with the peak memory
of the process at the largest number of words. Needs matplotlib (the extra `report`).
"""

import argparse
import json
from pathlib import Path
from typing import Any

MEASURED = "results/benchmarks/large_vocabulary.json"
ARMS = {  # name in the file: label and color in the chart
    "sampled": ("luong_lstm, samples, lazy_adam", "#1b7837"),
    "partitions": ("luong_lstm, partitions, Adam", "#2166ac"),
    "stock": ("fairseq's lstm, Adam", "#b2182b"),
}
TITLE = "Half a million words train about as fast as thirty thousand"


def read_points(path: Path) -> dict[str, list[tuple[int, float, float]]]:
    """Words, tokens/s and peak memory in MB by arm, ordered by number of words."""
    points: dict[str, list[tuple[int, float, float]]] = {arm: [] for arm in ARMS}
    for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
        arm, _, words = row["arm"].partition(".V")
        points[arm].append((int(words), row["tokens_per_second"], row["peak_mb"]))
    return {arm: sorted(found) for arm, found in points.items()}


def draw(points: dict[str, list[tuple[int, float, float]]], path: Path) -> None:
    """Draw one panel with labels at the ends of the lines."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "benchmarks"
    figure = Figure(figsize=(8, 3.6), layout="constrained", facecolor="white")
    axes = figure.subplots()
    for arm, found in points.items():
        label, colour = ARMS[arm]
        words, speed, memory = zip(*found, strict=True)
        axes.plot(words, speed, color=colour, marker="o", linewidth=2, clip_on=False)
        text = f"{label}\n{speed[-1]:,.0f} tokens/s, {memory[-1] / 1000:.1f} GB at the peak"
        axes.annotate(text, (words[-1], speed[-1]), (12, -6), textcoords="offset points",
                      color=colour, va="bottom", fontsize=10, annotation_clip=False)  # fmt: skip
    _label(axes, [words for words, _, _ in found])
    figure.savefig(path, dpi=120, metadata={"Software": None})


def _label(axes: Any, words: list[int]) -> None:
    axes.set_title(TITLE, loc="left", fontsize=13)
    axes.set_xscale("log")
    axes.set_xticks(words, [f"{number:,}" for number in words])
    axes.minorticks_off()
    axes.set_xlabel("words on each side (two cores, 256 dimensions, two rounds)")
    axes.set_ylabel("target tokens per second")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#e0e0e0")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Read, draw, and print the path."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measured", type=Path, default=Path(MEASURED))
    parser.add_argument("--output", type=Path, help="default: beside the measurements, .png")
    options = parser.parse_args()
    output = options.output or options.measured.with_suffix(".png")
    draw(read_points(options.measured), output)
    print(output)


if __name__ == "__main__":
    main()
