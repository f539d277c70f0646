"""Sampled softmax and its update without the rest of a model, by size of the vocabulary.

    python benchmarks/output_side.py --tensorflow OTHER-ENVIRONMENT/bin/python

A turn scores the targets of a batch and distinct uniform samples, computes the gradients of
contexts, class vectors and biases, and updates the latter two. Arms: ``sampled_nll`` with
``lazy_adam``; and with ``--tensorflow``, the Python of an environment with TensorFlow,
``tf.nn.sampled_softmax_loss`` with Keras's Adam and with plain gradient descent (a lower bound on
the time of Adam). Prints milliseconds, and ratios to ours with as many classes and to the same arm
with the fewest classes.
"""

import argparse
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
import turns

from fairseq_outlayers.losses import sampled_nll, scored_classes
from fairseq_outlayers.optim.row_adam import RowAdam
from fairseq_outlayers.optim.tables import make_row_sparse
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.samplers import UniformSampler

OURS = "lazy_adam"
WORKER = Path(__file__).with_name("tensorflow_worker.py")


class OutputSide:
    """A linear output layer in training on random contexts and targets."""

    def __init__(self, classes: int, options: argparse.Namespace):
        generator = torch.Generator().manual_seed(0)
        shape = (options.positions, options.dimensions)
        context = torch.randn(shape, generator=generator).requires_grad_()
        targets = torch.randint(classes, shape[:1], generator=generator)
        layer = LinearOutputLayer(classes, options.dimensions)
        self.context, self.targets, self.layer = turns.on(options.device, (context, targets, layer))
        make_row_sparse(self.layer)
        self.optimizer = RowAdam(self.layer.parameters())
        self.sampler = UniformSampler(classes, options.sampled)
        self.random = np.random.Generator(np.random.Philox(0))

    def update(self) -> None:
        """Sample, loss, gradients, step."""
        self.context.grad = None
        self.optimizer.zero_grad()
        draw = self.sampler.sample(self.targets, self.random)
        scored = scored_classes(draw.ids, self.targets)
        loss, _ = sampled_nll(
            self.context,
            scored.target_rows,
            self.layer.class_embeddings(scored.ids),
            self.layer.class_bias(scored.ids),
            draw.log_expected_count,
        )
        loss.backward()
        self.optimizer.step()


class TensorFlow:
    """The same in a TensorFlow process, which waits between turns."""

    def __init__(self, optimizer: str, classes: int, options: argparse.Namespace):
        sizes = (classes, options.positions, options.dimensions, options.sampled, options.threads)
        self.process = subprocess.Popen(
            [str(options.tensorflow), str(WORKER), optimizer, *map(str, sizes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        self.version = self._said()

    def update(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self._said()

    def _said(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{WORKER.name} has ended")
        return line.strip()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    """Measure, print a table, write the results."""
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    arms: dict[tuple[str, int], Callable[[], None]] = {}
    workers: list[TensorFlow] = []
    for classes in options.classes:
        arms[OURS, classes] = OutputSide(classes, options).update
        for optimizer in ("adam", "sgd") if options.tensorflow else ():
            workers.append(TensorFlow(optimizer, classes, options))
            arms[f"TensorFlow, {optimizer}", classes] = workers[-1].update
    times = turns.take_turns(arms, options.rounds)
    for worker in workers:
        worker.close()
    turns.print_headings("arm | classes | ms | lazy_adam's time / its | time / fewest classes")
    rows = []
    for (name, classes), seconds in times.items():
        row = {
            "arm": name,
            "classes": classes,
            "milliseconds": 1000 * median(seconds),
            "ours_by_it": turns.ratios(times[OURS, classes], seconds),
            "time_by_fewest": turns.ratios(seconds, times[name, min(options.classes)]),
        }
        rows.append(row)
        ratios = map(turns.spread, (row["ours_by_it"], row["time_by_fewest"]))
        turns.print_row(name, f"{classes:,}", f"{row['milliseconds']:.0f}", *ratios)
    # Record the version instead of the path.
    settings = {**vars(options), "tensorflow": [worker.version for worker in workers[:1]]}
    turns.write(options.output, settings, rows)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = turns.parser(__doc__, "output_side.json", rounds=7)
    parser.add_argument("--tensorflow", type=Path, metavar="PYTHON", help="Python with TensorFlow")
    parser.add_argument("--classes", type=int, nargs="+", default=[50_000, 500_000, 1_000_000])
    parser.add_argument("--positions", type=int, default=1024)
    parser.add_argument("--dimensions", type=int, default=512)
    parser.add_argument("--sampled", type=int, default=8192, help="classes sampled per update")
    return parser.parse_args()


if __name__ == "__main__":
    main()
