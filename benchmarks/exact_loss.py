"""Time and memory of the exact softmax loss, forward and backward.

    python benchmarks/exact_loss.py --classes 8000 32000 --positions 2000 --dimensions 256

Arms: ours (``losses.full_nll``), plain (``F.cross_entropy`` of all logits), fairseq
(log-probabilities in float32, then ``F.nll_loss``), and the last two with label smoothing. Prints
the ratio to plain over the rounds: median, smallest and largest. Memory is how far one pass raises
the peak of a fresh process (Linux).
"""

import argparse
import functools
import multiprocessing
from collections.abc import Callable
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from statistics import median

import torch
import torch.nn.functional as F
import turns
from torch import Tensor

from fairseq_outlayers.losses import full_nll, smoothing_term

SMOOTHING = 0.1
Loss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def plain(context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    return F.cross_entropy(F.linear(context, embeddings, bias), targets, reduction="sum")


def fairseq(context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    logits = F.linear(context, embeddings, bias)
    log_probabilities = F.log_softmax(logits, dim=-1, dtype=torch.float32)
    return F.nll_loss(log_probabilities, targets, reduction="sum")


def fairseq_smoothed(context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    logits = F.linear(context, embeddings, bias)
    log_probabilities = F.log_softmax(logits, dim=-1, dtype=torch.float32)
    nll = -log_probabilities.gather(1, targets.unsqueeze(1)).sum()
    share = SMOOTHING / (logits.size(1) - 1)
    return (1 - SMOOTHING - share) * nll - share * log_probabilities.sum()


def ours_smoothed(context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    scored = (context, targets, embeddings, bias)
    return full_nll(*scored) + smoothing_term(*scored, smoothing=SMOOTHING).sum()


ARMS: dict[str, Loss] = {
    "plain": plain,
    "ours": full_nll,
    "fairseq": fairseq,
    "ours, smoothed": ours_smoothed,
    "fairseq, smoothed": fairseq_smoothed,
}


def make_inputs(
    positions: int, classes: int, dimensions: int, device: str = "cpu"
) -> tuple[Tensor, ...]:
    """Random states, targets, class embeddings and bias."""
    generator = torch.Generator().manual_seed(0)
    context = torch.randn(positions, dimensions, generator=generator).requires_grad_()
    embeddings = (0.1 * torch.randn(classes, dimensions, generator=generator)).requires_grad_()
    targets = torch.randint(classes, (positions,), generator=generator)
    bias = torch.zeros(classes, requires_grad=True)
    return turns.on(device, (context, targets, embeddings, bias))


def one_pass(loss: Loss, inputs: tuple[Tensor, ...]) -> None:
    """Forward and backward."""
    for tensor in inputs:
        tensor.grad = None
    loss(*inputs).backward()


def _resident_kilobytes(line: str) -> int:
    """``VmRSS``, what is resident now, or ``VmHWM``, its peak."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{line}:")[1].split()[0])


def _peak_megabytes(name: str, shape: tuple[int, ...], threads: int, answer: SimpleQueue) -> None:
    torch.set_num_threads(threads)
    inputs = make_inputs(*shape)
    one_pass(ARMS[name], make_inputs(4, 8, 4))  # what is imported at the first call
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak that importing made
    before = _resident_kilobytes("VmRSS")
    one_pass(ARMS[name], inputs)
    answer.put((_resident_kilobytes("VmHWM") - before) / 1024)


def peak_megabytes(name: str, shape: tuple[int, ...], threads: int, device: str) -> float:
    """How far one pass raises the peak memory: of a process of its own, or of a GPU."""
    if device != "cpu":
        inputs = make_inputs(*shape, device)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        one_pass(ARMS[name], inputs)
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    context = multiprocessing.get_context("spawn")
    answer = context.SimpleQueue()
    process = context.Process(target=_peak_megabytes, args=(name, shape, threads, answer))
    process.start()
    process.join()
    return answer.get()


def compare(shape: tuple[int, ...], options: argparse.Namespace) -> list[dict]:
    """A row an arm: ratios to plain, round by round, seconds and megabytes."""
    inputs = make_inputs(*shape, options.device)
    arms = {name: functools.partial(one_pass, loss, inputs) for name, loss in ARMS.items()}
    times = turns.take_turns(arms, options.rounds)
    return [
        {
            "classes": shape[1],
            "arm": name,
            "seconds": median(taken),
            "ratios": turns.ratios(taken, times["plain"]),
            "megabytes": peak_megabytes(name, shape, options.threads, options.device),
        }
        for name, taken in times.items()
    ]


def main() -> None:
    """Measure, print a table, write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--classes", type=int, nargs="+", default=[8000, 32000])
    parser.add_argument("--positions", type=int, default=2000)
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    turns.add_device(parser)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--output", type=Path, default=Path("results/benchmarks/exact_loss.json"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = []
    print("| classes | loss | seconds | time / plain (min to max) | peak memory, MB |")
    print("|---|---|---|---|---|")
    for classes in options.classes:
        shape = (options.positions, classes, options.dimensions)
        for row in compare(shape, options):
            rows.append(row)
            cells = (
                f"{classes:,}",
                row["arm"],
                f"{row['seconds']:.3f}",
                turns.spread(row["ratios"]),
            )
            print("|", " | ".join(cells), f"| {row['megabytes']:,.0f} |", flush=True)
    turns.write(options.output, vars(options), rows)


if __name__ == "__main__":
    main()
