"""Updates of sampled rows by size of the vocabulary and optimizer.

    python benchmarks/row_updates.py --classes 30000 500000

A turn looks up the embeddings and biases of a fixed number of sampled classes, computes and clips
gradients, and steps. The loss is a dot product with constants, because its cost is the same for
every arm (``sampled_loss.py`` measures the real one). ``lazy_adam`` and PyTorch's SparseAdam get
row-sparse gradients, PyTorch's fused Adam and fairseq's Adam dense ones. An arm of 500,000 classes
of 256 dimensions needs up to 2 GB. Prints milliseconds, and ratios to lazy_adam with as many
classes and to the same optimizer with the fewest classes.
"""

import argparse
from collections.abc import Callable
from statistics import median

import torch
import turns
from fairseq.optim.adam import Adam

from fairseq_outlayers.optim import row_gradients
from fairseq_outlayers.optim.row_adam import RowAdam
from fairseq_outlayers.optim.tables import make_row_sparse
from fairseq_outlayers.output_layers.linear import LinearOutputLayer

LAZY = "lazy_adam"
# Whether the gradients are row-sparse, and the optimizer.
OPTIMIZERS: dict[str, tuple[bool, Callable]] = {
    LAZY: (True, lambda parameters: RowAdam(parameters, lr=1e-3)),
    "torch SparseAdam": (True, lambda parameters: torch.optim.SparseAdam(parameters, lr=1e-3)),
    "torch fused Adam": (False, lambda parameters: torch.optim.Adam(parameters, fused=True)),
    "fairseq Adam": (False, lambda parameters: Adam(parameters, lr=1e-3)),
}


class Arm:
    """Training of an output layer with new classes in every update."""

    def __init__(self, optimizer: str, classes: int, options: argparse.Namespace):
        self.options, self.device = options, torch.device(options.device)
        self.layer = LinearOutputLayer(classes, options.dimensions).to(self.device)
        is_sparse, make = OPTIMIZERS[optimizer]
        if is_sparse:
            make_row_sparse(self.layer)
        self.parameters = list(self.layer.parameters())
        self.optimizer = make(self.parameters)
        self.generator = torch.Generator().manual_seed(0)
        shape = (options.sampled, options.dimensions)
        self.direction = torch.randn(shape, generator=self.generator).to(self.device)

    def update(self) -> None:
        """Loss, gradients, clipping, step."""
        shape = (self.options.sampled,)
        ids = torch.randint(self.layer.num_classes, shape, generator=self.generator)
        ids = ids.to(self.device)
        self.optimizer.zero_grad()
        loss = (self.layer.class_embeddings(ids) * self.direction).sum()
        loss = loss + self.layer.class_bias(ids).sum()
        loss.backward()
        row_gradients.clip_norm(self.parameters, 1.0)
        self.optimizer.step()


def main() -> None:
    """Measure, print a table, write the results."""
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    keys = [(name, classes) for classes in options.classes for name in OPTIMIZERS]
    times = turns.take_turns({key: Arm(*key, options).update for key in keys}, options.rounds)
    fewest, rows = min(options.classes), []
    turns.print_headings("optimizer | classes | ms | time / lazy_adam | time / fewest classes")
    for (name, classes), seconds in times.items():
        row = {
            "optimizer": name,
            "classes": classes,
            "milliseconds": 1000 * median(seconds),
            "time_by_lazy": turns.ratios(seconds, times[LAZY, classes]),
            "time_by_fewest": turns.ratios(seconds, times[name, fewest]),
        }
        rows.append(row)
        ratios = map(turns.spread, (row["time_by_lazy"], row["time_by_fewest"]))
        turns.print_row(name, f"{classes:,}", f"{row['milliseconds']:.1f}", *ratios)
    turns.write(options.output, vars(options), rows)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = turns.parser(__doc__, "row_updates.json", rounds=7)
    parser.add_argument("--classes", type=int, nargs="+", default=[30_000, 500_000])
    parser.add_argument("--sampled", type=int, default=8192, help="classes sampled per update")
    parser.add_argument("--dimensions", type=int, default=256)
    return parser.parse_args()


if __name__ == "__main__":
    main()
