"""Draw the chart of README.md from the results of benchmarks/large_vocabulary.py.

    python benchmarks/chart.py

Target tokens per second of fairseq-train by number of words, one line per arm, with the peak memory
of the process at the largest number of words. Needs matplotlib (the extra `report`).
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import median

# Benchmarks are scripts, which see their own folder alone.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recipes.lab.figures import style

MEASURED = "results/benchmarks/large_vocabulary.json"
ARMS = {  # name in the file: label in the chart
    "sampled": "this package: samples, row-wise Adam",
    "partitions": "this package: partitions, Adam",
    "adaptive": "fairseq's lstm, adaptive softmax, Adam",
    "stock": "fairseq's lstm, Adam",
}


def read_points(measured: dict) -> dict[str, list[tuple[int, float, float]]]:
    """Words, tokens/s and peak memory in MB by arm of the chart, ordered by number of words."""
    points: dict[str, list[tuple[int, float, float]]] = {arm: [] for arm in ARMS}
    for row in measured["rows"]:
        arm, _, words = row["arm"].partition(".V")
        if arm in points:
            points[arm].append((int(words), row["tokens_per_second"], row["peak_mb"]))
    return {arm: sorted(found) for arm, found in points.items() if found}


def title(measured: dict, words: int) -> str:
    """What the chart shows, in numbers: medians of the rounds' ratios."""
    ratios = {row["arm"]: median(row["speed_by_first"]) for row in measured["rows"]}
    times = sorted(ratios[f"{arm}.V{words}"] for arm in ("partitions", "sampled"))
    return f"With {words:,} words, {times[0]:.0f} to {times[-1]:.0f} times fairseq's speed"


def draw(measured: dict, path: Path) -> None:
    """Draw one panel with labels at the ends of the lines."""
    style.quiet()
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    matplotlib.rcParams.update(style.PARAMETERS)
    figure = Figure(figsize=(8, style.HEIGHT), layout="constrained")
    axes, points = figure.subplots(), read_points(measured)
    for number, (arm, found) in enumerate(points.items()):
        words, speed, memory = zip(*found, strict=True)
        axes.plot(words, speed, color=style.colour(number), marker="o", clip_on=False)
        text = f"{ARMS[arm]}\n{speed[-1]:,.0f} tokens/s, {memory[-1] / 1000:.1f} GB at the peak"
        axes.annotate(text, (words[-1], speed[-1]), (12, -6), textcoords="offset points",
                      color=style.colour(number), va="bottom", annotation_clip=False)  # fmt: skip
    axes.set_title(title(measured, words[-1]), fontsize=style.TITLE)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(words, [f"{number:,}" for number in words])
    axes.minorticks_off()
    settings, threads = measured["settings"], measured["machine"].get("threads")
    axes.set_xlabel(
        f"words on each side ({settings['dimensions']} dimensions, {settings['rounds']} rounds, "
        f"CPU threads: {threads})"
    )
    axes.set_ylabel("target tokens per second")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y")
    style.save(figure, path)


def main() -> None:
    """Read, draw, and print the path."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measured", type=Path, default=Path(MEASURED))
    parser.add_argument("--output", type=Path, help="default: beside the measurements, .png")
    options = parser.parse_args()
    output = options.output or options.measured.with_suffix(".png")
    draw(json.loads(options.measured.read_text(encoding="utf-8")), output)
    print(output)


if __name__ == "__main__":
    main()
