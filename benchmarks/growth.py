"""Growth of the cost of an update with classes, positions and dimensions.

    python benchmarks/growth.py
    python benchmarks/growth.py --largest 100000 --rounds 5

A turn samples, scores, computes gradients and updates the output layer only: `exact` (``full_nll``
and PyTorch's fused Adam), `sampled` (``sampled_nll`` and ``lazy_adam``, --sampled classes) and
`partition` (``full_nll`` over --sampled active rows of the tables, fused Adam). `change` puts the
rows of a partition and their moments back and loads the next ones, which happens once a partition.
One size at a time is varied: classes from 30,000 to --largest at 128 dimensions, positions, and
dimensions; all kinds and sizes of a series take turns. Prints the milliseconds of every point and
the exponent of a power law fitted to each series (0: no growth), and writes how many times as fast
as `exact` each is in every round; --chart draws the points with logarithmic axes. All that take
turns lie in memory at once: 10 GB, less with a smaller --largest.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
import turns

from fairseq_outlayers.losses import full_nll, sampled_nll, scored_classes
from fairseq_outlayers.optim.row_adam import RowAdam
from fairseq_outlayers.optim.tables import make_row_sparse
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.samplers import UniformSampler
from fairseq_outlayers.tables.active_rows import ActiveRows
from recipes.lab.figures import style

BASE = {"classes": 30_000, "positions": 1024, "dimensions": 128}
EXACT_UP_TO = 130_000  # classes; with more, an exact update takes minutes on a CPU
KINDS = ("exact", "sampled", "partition", "change")


class OutputSide:
    """An output layer in training on random contexts and targets."""

    def __init__(self, kind: str, sizes: dict[str, int], options: argparse.Namespace):
        self.kind, num_classes = kind, sizes["classes"]
        in_use = min(options.sampled, num_classes)
        is_partitioned = kind in ("partition", "change")
        generator = torch.Generator().manual_seed(0)
        shape = (sizes["positions"], sizes["dimensions"])
        context = torch.randn(shape, generator=generator).requires_grad_()
        targets = torch.randint(
            in_use if is_partitioned else num_classes, shape[:1], generator=generator
        )
        layer = LinearOutputLayer(num_classes, sizes["dimensions"])
        self.context, self.targets, self.layer = turns.on(options.device, (context, targets, layer))
        if kind == "sampled":
            make_row_sparse(self.layer)
            self.optimizer: torch.optim.Optimizer = RowAdam(self.layer.parameters())
        else:
            self.optimizer = torch.optim.Adam(self.layer.parameters(), fused=True)
        self.sampler = UniformSampler(num_classes, in_use)
        self.random = np.random.Generator(np.random.Philox(0))
        if is_partitioned:
            self.tables = [ActiveRows(table, in_use) for table in self.layer.class_tables()]
            self.next_rows = [
                torch.randperm(num_classes, generator=generator)[:in_use].sort().values
                for _ in range(2)
            ]
            self.change()
            self.update()  # so that there are moments to move
        self.turn = self.change if kind == "change" else self.update

    def change(self) -> None:
        """Another partition."""
        for table in self.tables:
            table.activate(self.next_rows[0], self.optimizer)
        self.next_rows.reverse()

    def update(self) -> None:
        """Loss, gradients, step."""
        self._loss().backward()
        self.optimizer.step()
        # At the end, so that peak memory includes gradients.
        self.context.grad = None
        self.optimizer.zero_grad()

    def _loss(self) -> torch.Tensor:
        if self.kind != "sampled":
            scored = self.layer.class_embeddings(), self.layer.class_bias()
            return full_nll(self.context, self.targets, *scored)
        draw = self.sampler.sample(self.targets, self.random)
        ids, rows = scored_classes(draw.ids, self.targets)
        scored = self.layer.class_embeddings(ids), self.layer.class_bias(ids)
        return sampled_nll(self.context, rows, *scored, draw.log_expected_count)[0]


def series(largest: int) -> dict[str, list[int]]:
    """The points of every varied size."""
    classes = [n for n in (30_000, 125_000, 500_000, 2_000_000) if n <= largest]
    return {
        "classes": classes if len(classes) > 1 else [largest // 4, largest],
        "positions": [256, 512, 1024, 2048],
        "dimensions": [64, 128, 256, 512],
    }


def can_be_measured(kind: str, varied: str, point: int, device: str) -> bool:
    """Whether an update does not take minutes, and a change moves something of that size."""
    if kind == "change" and varied == "positions":
        return False
    is_large = kind == "exact" and varied == "classes" and point > EXACT_UP_TO
    return device != "cpu" or not is_large


def exponent(points: list[int], seconds: list[float]) -> float:
    """The exponent of a power law, by least squares of the logarithms."""
    return float(np.polyfit(np.log(points), np.log(seconds), 1)[0])


def measure(options: argparse.Namespace) -> list[dict]:
    """A row per point."""
    rows = []
    for varied, points in series(options.largest).items():
        arms: dict[tuple[str, int], Callable[[], None]] = {}
        for kind in options.kinds:
            for point in points:
                if can_be_measured(kind, varied, point, options.device):
                    arms[kind, point] = OutputSide(kind, {**BASE, varied: point}, options).turn
        times = turns.take_turns(arms, options.rounds)
        for kind in options.kinds:
            fitting = [point for point in points if (kind, point) in arms]
            if not fitting:
                continue
            taken = [median(times[kind, point]) for point in fitting]
            power = exponent(fitting, taken) if len(fitting) > 1 else float("nan")
            for point, seconds in zip(fitting, taken, strict=True):
                row = {"kind": kind, "varied": varied, "point": point,
                       "milliseconds": 1000 * seconds, "exponent": power}  # fmt: skip
                if kind != "exact" and ("exact", point) in arms:
                    exact = times["exact", point]
                    row["speed_by_exact"] = turns.ratios(exact, times[kind, point])
                rows.append(row)
            shown = ", ".join(f"{p:,}: {1000 * s:.1f}" for p, s in zip(fitting, taken, strict=True))
            turns.print_row(kind, varied, shown, f"{power:.2f}")
    return rows


def draw(rows: list[dict], path: Path) -> None:
    """Draw a panel per varied size, with logarithmic axes and the exponents as labels."""
    style.quiet()
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update(style.PARAMETERS)
    varied = list(dict.fromkeys(row["varied"] for row in rows))
    size = (style.PANEL * len(varied), style.HEIGHT)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(varied), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, varied, strict=True):
        for number, kind in enumerate(KINDS):
            points = [row for row in rows if (row["kind"], row["varied"]) == (kind, name)]
            if points:
                sizes, times = zip(*((p["point"], p["milliseconds"]) for p in points), strict=True)
                label = f"{kind}: {name} to the {points[0]['exponent']:.2f}"
                color = style.colour(number)
                panel.loglog(sizes, times, color=color, marker="o", label=label)
        ticks = sorted({row["point"] for row in rows if row["varied"] == name})
        panel.set_xticks(ticks, [_short(tick) for tick in ticks])
        panel.minorticks_off()
        panel.set_xlabel(name)
        panel.legend(fontsize=style.SMALL, frameon=False, loc="upper left")
    low, high = panels[0].get_ylim()
    panels[0].set_ylim(low, high * 3)  # room for the legends
    panels[0].set_ylabel("milliseconds")
    panels[0].yaxis.set_major_formatter("{x:,.0f}")
    figure.suptitle(_title(rows), x=0.01, ha="left", fontsize=style.TITLE)
    style.save(figure, path)
    print(path)


def _title(rows: list[dict]) -> str:
    """How the cost of each kind grows with the number of classes."""
    exponents = {r["kind"]: r["exponent"] for r in rows if r["varied"] == "classes"}
    growth = ", ".join(f"{kind} {exponent:.2f}" for kind, exponent in exponents.items())
    return f"The cost of an update grows with a power of the number of classes: {growth}"


def _short(number: int) -> str:
    """``30k`` for 30,000."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size and number % size == 0:
            return f"{number // size}{unit}"
    return str(number)


def main() -> None:
    """Measure, print a table, write the results."""
    options = parse_arguments()
    if options.redraw:
        draw(json.loads(options.redraw.read_text(encoding="utf-8"))["rows"], options.chart)
        return
    torch.set_num_threads(options.threads)
    turns.print_headings("update | varied | milliseconds | exponent")
    rows = measure(options)
    turns.write(options.output, vars(options), rows)
    if options.chart:
        draw(rows, options.chart)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = turns.parser(__doc__, "growth.json")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--largest", type=int, default=2_000_000, help="classes")
    parser.add_argument(
        "--sampled", type=int, default=8192, help="classes sampled, or of a partition"
    )
    parser.add_argument("--chart", type=Path, help="image file to write: .svg or .png")
    parser.add_argument("--redraw", type=Path, metavar="JSON", help="only draw --chart from a file")
    options = parser.parse_args()
    if options.redraw and not options.chart:
        parser.error("--redraw needs --chart")
    return options


if __name__ == "__main__":
    main()
