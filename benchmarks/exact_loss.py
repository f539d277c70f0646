"""Time and memory of the exact softmax loss, forward and backward.

    python benchmarks/exact_loss.py --classes 8000 32000 --positions 2000 --dimensions 256

Arms: ours (``losses.full_nll``), plain (``F.cross_entropy`` of all logits), fairseq
(log-probabilities in float32, then ``F.nll_loss``), ours and fairseq's with label smoothing;
PyTorch's ``F.linear_cross_entropy`` if available, with its default options and in chunks (on a CPU
in float32 ours calls that with a chunk size of its own); if installed, Apple's cut-cross-entropy
(its implementation for ``torch.compile``, on a GPU also its kernel; without bias) and, on a GPU,
Liger Kernel, which adds gradients of the classes in --dtype or in float32. Inputs are random, so
cut-cross-entropy's filter of negligible gradients skips nothing. Those that cannot compute in
--dtype are named and left out. Prints the median, minimum and maximum of the ratios to plain.
Memory is the increase of a fresh process's peak by one pass (Linux), also divided by its minimum,
the gradients. The error is the largest error of a gradient, relative to the largest gradient of
plain in float64; it is omitted beyond --error-up-to classes to save memory.
"""

import argparse
import functools
import importlib.util
import multiprocessing
from collections.abc import Callable
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
import turns
from torch import Tensor

from fairseq_outlayers.losses import full_nll, smoothing_term

SMOOTHING = 0.1
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
Loss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def plain(context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    return F.cross_entropy(F.linear(context, embeddings, bias), targets, reduction="sum")


def fairseq(context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    logits = F.linear(context, embeddings, bias)
    log_probabilities = F.log_softmax(logits, dim=-1, dtype=torch.float32)
    return F.nll_loss(log_probabilities, targets, reduction="sum")


def fairseq_smoothed(context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    logits = F.linear(context, embeddings, bias)
    return _smoothed(F.log_softmax(logits, dim=-1, dtype=torch.float32), targets)


def fairseq_smoothed_exactly(
    context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor
) -> Tensor:
    return _smoothed(F.log_softmax(F.linear(context, embeddings, bias), dim=-1), targets)


def _smoothed(log_probabilities: Tensor, targets: Tensor) -> Tensor:
    nll = -log_probabilities.gather(1, targets.unsqueeze(1)).sum()
    share = SMOOTHING / (log_probabilities.size(1) - 1)
    return (1 - SMOOTHING - share) * nll - share * log_probabilities.sum()


def ours_smoothed(context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    scored = (context, targets, embeddings, bias)
    return full_nll(*scored) + smoothing_term(*scored, smoothing=SMOOTHING).sum()


def pytorch_unchunked(
    context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor, options: Any = None
) -> Tensor:
    return F.linear_cross_entropy(
        context, embeddings, targets, linear_bias=bias, reduction="sum", options=options
    )


def pytorch_chunked(context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    options = torch.nn.LinearCrossEntropyOptions()
    return pytorch_unchunked(context, targets, embeddings, bias, options)


def cut_cross_entropy(context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    import cut_cross_entropy

    return cut_cross_entropy.linear_cross_entropy(
        context, embeddings, targets, reduction="sum", impl="torch_compile"
    )


def cut_cross_entropy_kernel(
    context: Tensor, targets: Tensor, embeddings: Tensor, bias: Tensor
) -> Tensor:
    import cut_cross_entropy

    return cut_cross_entropy.linear_cross_entropy(context, embeddings, targets, reduction="sum")


def liger(
    context: Tensor,
    targets: Tensor,
    embeddings: Tensor,
    bias: Tensor,
    accumulated: torch.dtype | None = None,
) -> Tensor:
    from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction

    ignored, unsquared, unsmoothed, uncapped = -100, 0.0, 0.0, None
    return LigerFusedLinearCrossEntropyFunction.apply(
        context, embeddings, targets, bias, None, ignored, unsquared, unsmoothed, "sum", uncapped,
        False, accumulated,
    )[0]  # fmt: skip


ARMS: dict[str, Loss] = {
    "plain": plain,
    "ours": full_nll,
    "fairseq": fairseq,
    "ours, smoothed": ours_smoothed,
    "fairseq, smoothed": fairseq_smoothed,
}
if hasattr(F, "linear_cross_entropy"):
    ARMS["PyTorch, not chunked"] = pytorch_unchunked
    ARMS["PyTorch, chunked"] = pytorch_chunked
if importlib.util.find_spec("cut_cross_entropy"):
    ARMS["cut-cross-entropy, compiled"] = cut_cross_entropy
    if torch.cuda.is_available():
        ARMS["cut-cross-entropy"] = cut_cross_entropy_kernel
if importlib.util.find_spec("liger_kernel") and torch.cuda.is_available():
    ARMS["Liger Kernel"] = liger
    ARMS["Liger Kernel, sums in float32"] = functools.partial(liger, accumulated=torch.float32)


def make_inputs(
    positions: int,
    classes: int,
    dimensions: int,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, ...]:
    """Random states, targets, class embeddings and bias."""
    generator = torch.Generator().manual_seed(0)
    context = torch.randn(positions, dimensions, generator=generator)
    embeddings = 0.1 * torch.randn(classes, dimensions, generator=generator)
    targets = torch.randint(classes, (positions,), generator=generator)
    trained = [
        each.to(dtype).requires_grad_() for each in (context, embeddings, torch.zeros(classes))
    ]
    return turns.on(device, (trained[0], targets, *trained[1:]))


def forget_gradients(inputs: tuple[Tensor, ...]) -> None:
    """Free the gradients of a pass."""
    for tensor in inputs:
        tensor.grad = None


def one_pass(loss: Loss, inputs: tuple[Tensor, ...]) -> None:
    """Forward and backward."""
    forget_gradients(inputs)
    loss(*inputs).backward()


def one_turn(loss: Loss, inputs: tuple[Tensor, ...]) -> None:
    """A pass that leaves no gradients, so that the next one's peak memory includes its own."""
    one_pass(loss, inputs)
    forget_gradients(inputs)


def drop_impossible(device: str, dtype: torch.dtype) -> None:
    """Remove the arms that cannot compute in a dtype; prints each with the error."""
    for name in list(ARMS):
        try:
            one_pass(ARMS[name], make_inputs(16, 64, 32, device, dtype))
        except Exception as error:
            print(f"without {name}: {type(error).__name__}: {str(error).splitlines()[:1]}")
            del ARMS[name]


def _resident_kilobytes(line: str) -> int:
    """``VmRSS``, the resident size, or ``VmHWM``, its peak."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{line}:")[1].split()[0])


def _peak_megabytes(name: str, shape: tuple[int, ...], options: Any, answer: SimpleQueue) -> None:
    torch.set_num_threads(options.threads)
    inputs = make_inputs(*shape, dtype=DTYPES[options.dtype])
    # The first call imports modules.
    one_pass(ARMS[name], make_inputs(4, 8, 4, dtype=DTYPES[options.dtype]))
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _resident_kilobytes("VmRSS")
    one_pass(ARMS[name], inputs)
    answer.put((_resident_kilobytes("VmHWM") - before) / 1024)


def peak_megabytes(name: str, shape: tuple[int, ...], options: argparse.Namespace) -> float:
    """Increase of peak memory by one pass, in a new process or on a GPU."""
    if options.device != "cpu":
        inputs = make_inputs(*shape, options.device, DTYPES[options.dtype])
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        one_pass(ARMS[name], inputs)
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    context = multiprocessing.get_context("spawn")
    answer = context.SimpleQueue()
    process = context.Process(target=_peak_megabytes, args=(name, shape, options, answer))
    process.start()
    process.join()
    return answer.get()


def error(name: str, inputs: tuple[Tensor, ...]) -> float:
    """The largest error of a gradient relative to the largest gradient of plain in float64."""
    exact = tuple(t.detach().double() if t.is_floating_point() else t for t in inputs)
    for own, other in zip(exact, inputs, strict=True):
        own.requires_grad_(other.requires_grad)
    one_pass(fairseq_smoothed_exactly if "smoothed" in name else plain, exact)
    one_pass(ARMS[name], inputs)
    leaves = [(i.grad, e.grad) for i, e in zip(inputs, exact, strict=True) if i.grad is not None]
    return max(float((own - true).abs().max() / true.abs().max()) for own, true in leaves)


def compare(shape: tuple[int, ...], options: argparse.Namespace) -> list[dict]:
    """A row per arm: ratios to plain in each round, seconds and megabytes."""
    inputs = make_inputs(*shape, options.device, DTYPES[options.dtype])
    arms = {name: functools.partial(one_turn, loss, inputs) for name, loss in ARMS.items()}
    times = turns.take_turns(arms, options.rounds)
    least = sum(t.numel() * t.element_size() for t in inputs if t.requires_grad) / 2**20
    return [
        {
            "classes": shape[1],
            "arm": name,
            "seconds": median(taken),
            "ratios": turns.ratios(taken, times["plain"]),
            "megabytes": peak_megabytes(name, shape, options),
            "least_megabytes": least,
            "gradient_error": error(name, inputs) if shape[1] <= options.error_up_to else None,
        }
        for name, taken in times.items()
    ]


def main() -> None:
    """Measure, print a table, write the results."""
    parser = turns.parser(__doc__, "exact_loss.json", rounds=7)
    parser.add_argument("--classes", type=int, nargs="+", default=[8000, 32000])
    parser.add_argument("--positions", type=int, default=2000)
    parser.add_argument("--dimensions", type=int, default=256)
    parser.add_argument("--error-up-to", type=int, default=60_000, metavar="CLASSES")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name in set(ARMS) - {"plain", *options.arms}:
        del ARMS[name]
    drop_impossible(options.device, DTYPES[options.dtype])
    rows = []
    turns.print_headings(
        "classes | loss | seconds | time / plain (min to max) | MB | by the least | error"
    )
    for classes in options.classes:
        shape = (options.positions, classes, options.dimensions)
        for row in compare(shape, options):
            rows.append(row)
            by_least = row["megabytes"] / row["least_megabytes"]
            turns.print_row(
                f"{classes:,}",
                row["arm"],
                f"{row['seconds']:.3f}",
                turns.spread(row["ratios"]),
                f"{row['megabytes']:,.0f}",
                f"{by_least:.1f}",
                "" if row["gradient_error"] is None else f"{row['gradient_error']:.0e}",
            )
    turns.write(options.output, vars(options), rows)


if __name__ == "__main__":
    main()
