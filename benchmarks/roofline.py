"""Efficiency of hot paths relative to their matrix products.

    python benchmarks/roofline.py

The products that a path needs are timed in the same rounds, with the same shapes: scores, and the
gradients of contexts and of class vectors, a chunk of positions at a time. The share of a path is
the time of these products divided by its own. Paths: the exact loss (``full_nll``), the sampled
loss (``sampled_nll`` with the gathering of its rows), and the same with the update of the rows by
``lazy_adam``. Goals: exact .70 or more, sampled .60 or more.
"""

import argparse
from statistics import median

import numpy as np
import torch
import turns

from fairseq_outlayers.losses import full_nll, sampled_nll, scored_classes
from fairseq_outlayers.losses.precision import SAMPLED_POSITIONS_ON_CPU, choose_chunk_size
from fairseq_outlayers.optim.row_adam import RowAdam
from fairseq_outlayers.optim.tables import make_row_sparse
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.samplers import UniformSampler


class Problem:
    """Contexts, targets and an output layer."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        generator = torch.Generator().manual_seed(0)
        shape = (options.positions, options.dimensions)
        context = torch.randn(shape, generator=generator).requires_grad_()
        targets = torch.randint(options.classes, shape[:1], generator=generator)
        layers = [LinearOutputLayer(options.classes, options.dimensions) for _ in range(2)]
        self.context, self.targets, (self.dense, self.sparse) = turns.on(
            options.device, (context, targets, layers)
        )
        make_row_sparse(self.sparse)
        self.optimizer = RowAdam(self.sparse.parameters())
        self.sampler = UniformSampler(options.classes, options.sampled)
        self.random = np.random.Generator(np.random.Philox(0))

    def products(self, classes: int, on_cpu: int) -> None:
        """Only the products: scores and both gradients."""
        size = choose_chunk_size(0, self.context.device, classes, on_cpu)
        with torch.no_grad():
            embeddings = self.dense.weight[:classes]
            total, gradient = torch.zeros_like(embeddings), torch.empty_like(self.context)
            for start in range(0, len(self.context), size):
                chunk = self.context[start : start + size]
                scores = chunk @ embeddings.t()
                torch.mm(scores, embeddings, out=gradient[start : start + size])
                total.addmm_(scores.t(), chunk)

    def exact(self) -> None:
        """Loss and gradients over all classes."""
        self.context.grad = self.dense.weight.grad = self.dense.bias.grad = None
        layer = self.dense
        full_nll(
            self.context, self.targets, layer.class_embeddings(), layer.class_bias()
        ).backward()

    def sampled(self) -> None:
        """Sample, loss and gradients."""
        self.context.grad = None
        self.optimizer.zero_grad()
        draw = self.sampler.sample(self.targets, self.random)
        ids, rows = scored_classes(draw.ids, self.targets)
        scored = self.sparse.class_embeddings(ids), self.sparse.class_bias(ids)
        sampled_nll(self.context, rows, *scored, draw.log_expected_count)[0].backward()

    def sampled_and_updated(self) -> None:
        """The same with the update of the rows."""
        self.sampled()
        self.optimizer.step()


def main() -> None:
    """Measure, print a table, write the results."""
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    problem = Problem(options)
    on_cpu = SAMPLED_POSITIONS_ON_CPU
    arms = {
        "products of exact": lambda: problem.products(options.classes, 128),
        "exact": problem.exact,
        "products of sampled": lambda: problem.products(options.sampled, on_cpu),
        "sampled": problem.sampled,
        "sampled, updated": problem.sampled_and_updated,
    }
    times = turns.take_turns(arms, options.rounds)
    rows = []
    turns.print_headings("path | ms | products, ms | share of the products (min to max) | GFLOP/s")
    for name in ("exact", "sampled", "sampled, updated"):
        kind = name.split(",")[0]
        bare = times[f"products of {kind}"]
        classes = options.classes if kind == "exact" else options.sampled
        operations = 6 * options.positions * options.dimensions * classes
        row = {
            "path": name,
            "milliseconds": 1000 * median(times[name]),
            "products_milliseconds": 1000 * median(bare),
            "shares": turns.ratios(bare, times[name]),
            "gigaflops": operations / median(times[name]) / 1e9,
        }
        rows.append(row)
        cells = (f"{row['milliseconds']:.1f}", f"{row['products_milliseconds']:.1f}")
        share, rate = turns.spread(row["shares"]), f"{row['gigaflops']:,.0f}"
        turns.print_row(name, *cells, share, rate)
    turns.write(options.output, vars(options), rows)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = turns.parser(__doc__, "roofline.json", rounds=7)
    parser.add_argument("--classes", type=int, default=32_000)
    parser.add_argument("--sampled", type=int, default=8192)
    parser.add_argument("--positions", type=int, default=1024)
    parser.add_argument("--dimensions", type=int, default=512)
    return parser.parse_args()


if __name__ == "__main__":
    main()
