"""Time of the sampled softmax by share of the classes, forward and backward, with its class table.

    python benchmarks/sampled_loss.py --classes 128000 --positions 4000 --dimensions 512

Arms: the exact loss (``losses.full_nll``), ours at every share (``losses.sampled_nll``, including
sampling and the gathering of its rows), and plain at every share: all logits of the sample as one
matrix and ``F.cross_entropy``. Prints the time relative to the exact loss, which should be near the
share, and ours relative to plain.
"""

import functools
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F
import turns
from torch import Tensor

from fairseq_outlayers.losses import full_nll, sampled_nll, scored_classes
from fairseq_outlayers.samplers import UniformSampler


class Problem:
    """A class table, contexts, and the losses to compare."""

    def __init__(self, classes: int, positions: int, dimensions: int, device: str):
        generator = torch.Generator().manual_seed(0)
        context = torch.randn(positions, dimensions, generator=generator).requires_grad_()
        table = 0.1 * torch.randn(classes, dimensions, generator=generator)
        bias = torch.zeros(classes, requires_grad=True)
        targets = torch.randint(classes, (positions,), generator=generator)
        self.context, self.table, self.bias, self.targets = turns.on(
            device, (context, table.requires_grad_(), bias, targets)
        )
        self.random = np.random.Generator(np.random.Philox(0))

    def exact(self) -> Tensor:
        return full_nll(self.context, self.targets, self.table, self.bias)

    def ours(self, num_sampled: int) -> Tensor:
        draw = UniformSampler(len(self.bias), num_sampled).sample(self.targets, self.random)
        ids, rows = scored_classes(draw.ids, self.targets)
        embeddings, bias = F.embedding(ids, self.table), self.bias[ids]
        loss, _ = sampled_nll(self.context, rows, embeddings, bias, draw.log_expected_count)
        return loss

    def plain(self, num_sampled: int) -> Tensor:
        draw = UniformSampler(len(self.bias), num_sampled).sample(self.targets, self.random)
        sampled = F.linear(self.context, F.embedding(draw.ids, self.table), self.bias[draw.ids])
        sampled = sampled - draw.log_expected_count.to(sampled.dtype)
        sampled = sampled.masked_fill(draw.ids == self.targets.unsqueeze(1), float("-inf"))
        own = (self.context * F.embedding(self.targets, self.table)).sum(-1, keepdim=True)
        scores = torch.cat([own + self.bias[self.targets].unsqueeze(1), sampled], 1)
        return F.cross_entropy(scores, torch.zeros_like(self.targets), reduction="sum")

    def train(self, loss_name: str, *arguments: int) -> None:
        """One forward and backward pass."""
        self.context.grad = self.table.grad = self.bias.grad = None
        getattr(self, loss_name)(*arguments).backward()


def main() -> None:
    """Measure, print a table, write the results."""
    parser = turns.parser(__doc__, "sampled_loss.json")
    parser.add_argument("--classes", type=int, nargs="+", default=[32_000, 128_000])
    parser.add_argument("--positions", type=int, default=4000)
    parser.add_argument("--dimensions", type=int, default=512)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.5, 0.25, 0.05])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = []
    turns.print_headings(
        "classes | share | seconds | time / exact (min to max) | time / plain (min to max)"
    )
    for classes in options.classes:
        problem = Problem(classes, options.positions, options.dimensions, options.device)
        arms = {"exact": functools.partial(problem.train, "exact")}
        for share in options.shares:
            for name in ("ours", "plain"):
                arms[f"{name} {share}"] = functools.partial(
                    problem.train, name, int(share * classes)
                )
        times = turns.take_turns(arms, options.rounds)
        for share in options.shares:
            ours = times[f"ours {share}"]
            row = {
                "classes": classes,
                "share": share,
                "seconds": median(ours),
                "by_exact": turns.ratios(ours, times["exact"]),
                "by_plain": turns.ratios(ours, times[f"plain {share}"]),
            }
            rows.append(row)
            cells = (f"{classes:,}", f"{share:.0%}", f"{row['seconds']:.3f}")
            turns.print_row(*cells, turns.spread(row["by_exact"]), turns.spread(row["by_plain"]))
    turns.write(options.output, vars(options), rows)


if __name__ == "__main__":
    main()
