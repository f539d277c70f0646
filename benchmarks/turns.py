"""Alternating measurements of arms in one process, and their result files."""

import argparse
import contextlib
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.utils import _pytree as pytree

# Shared with the recipes; benchmarks are scripts, whose path has only their own folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fairseq_outlayers.suggestions import HelpfulParser
from recipes.lab import measurements
from recipes.lab.markdown import markdown_row, markdown_table
from recipes.lab.measurements import in_turns

FEWEST_ROUNDS = 5
RESULTS = Path("results/benchmarks")
# Compared with, besides PyTorch and fairseq (benchmarks/requirements.txt).
PEERS = ("cut-cross-entropy", "ctranslate2", "liger-kernel", "triton")
# Measurements of every call of `take_turns`, for the file.
_taken: list[dict] = []


def take_turns(arms: Mapping[Any, Callable[[], object]], rounds: int) -> dict[Any, list[float]]:
    """Seconds of every arm in every round; each round runs all arms in shuffled order.

    Times include GPU work. CPU seconds and the increase of a GPU's peak memory by a turn are also
    written by :func:`write`; what all arms hold between turns is not part of it.
    """
    times: dict[Any, list[float]] = {name: [] for name in arms}
    processor: dict[Any, list[float]] = {name: [] for name in arms}
    memory: dict[Any, float] = dict.fromkeys(arms, 0.0)
    for number, name in in_turns(arms, rounds + 1):
        before = synchronize(forget_peak=True)
        clock, of_processor = time.perf_counter(), time.process_time()
        arms[name]()
        synchronize()
        if number > 0:  # the first round is a warm-up
            times[name].append(time.perf_counter() - clock)
            processor[name].append(time.process_time() - of_processor)
            memory[name] = max(memory[name], _peak_megabytes() - before)
    for name, seconds in times.items():
        _taken.append(
            {
                "arm": str(name),
                "seconds": seconds,
                "processor_seconds": processor[name],
                **({"gpu_peak_mb": memory[name]} if memory[name] else {}),
            }
        )
    return times


def synchronize(forget_peak: bool = False) -> float:
    """Synchronize with a GPU, if one is in use; returns the megabytes in use."""
    if not _uses_gpu():
        return 0.0
    torch.cuda.synchronize()
    if forget_peak:
        torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated() / 1e6


def _peak_megabytes() -> float:
    return torch.cuda.max_memory_allocated() / 1e6 if _uses_gpu() else 0.0


def _uses_gpu() -> bool:
    return torch.cuda.is_available() and torch.cuda.is_initialized()


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--device``."""
    parser.add_argument("--device", default="cpu", help="cpu or cuda")


def parser(description: str | None, output: str | None, rounds: int = 5) -> argparse.ArgumentParser:
    """A parser with ``--rounds``, ``--device``, ``--threads`` and ``--output``.

    Args:
        description: the text of the help, printed as it is.
        output: default name in results/benchmarks; None if it follows from other options.
        rounds: their default number.
    """
    made = HelpfulParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--rounds", type=int, default=rounds)
    add_device(made)
    made.add_argument("--threads", type=int, default=torch.get_num_threads())
    default = None if output is None else RESULTS / output
    where = "JSON file (default: in results/benchmarks)"
    made.add_argument("--output", type=Path, default=default, help=where)
    return made


def on(device: str, value: Any) -> Any:
    """Move tensors and modules, also in containers, to a device; leaf tensors stay leaves."""

    def move(part: Any) -> Any:
        if isinstance(part, torch.Tensor):
            return part.detach().to(device).requires_grad_(part.requires_grad)
        return part.to(device) if isinstance(part, torch.nn.Module) else part

    return pytree.tree_map(move, value)


def ratios(numerator: list[float], denominator: list[float]) -> list[float]:
    """Ratios within rounds, ascending; other load affects both arms of a round."""
    return sorted(n / d for n, d in zip(numerator, denominator, strict=True))


def spread(values: list[float]) -> str:
    """Median, minimum and maximum."""
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def print_headings(headings: str) -> None:
    """Print the first two lines of a table; headings are separated by ``|``."""
    print("\n".join(markdown_table(headings.split(" | "), ())))


def print_row(*cells: object) -> None:
    """Print a line of a table."""
    print(markdown_row(cells), flush=True)


def why_not_published(settings: Mapping[str, Any]) -> list[str]:
    """Reasons why the figures are a trial instead of results."""
    reasons = []
    if "dirty" in str(measurements.COMMIT):
        reasons.append(f"the checkout has changes that are not in a commit ({measurements.COMMIT})")
    rounds = settings.get("rounds", FEWEST_ROUNDS)
    if rounds < FEWEST_ROUNDS:
        reasons.append(f"{rounds} rounds, of at least {FEWEST_ROUNDS}")
    return reasons


def peers() -> dict[str, str]:
    """The installed versions of other libraries that benchmarks compare with."""
    found = {}
    for name in PEERS:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def write(output: Path, settings: dict, rows: list[dict]) -> None:
    """Write rows and options as JSON, and print the path.

    Trials are marked with the reasons.
    """
    said = {name: str(value) for name, value in settings.items()}
    reasons = why_not_published(settings)
    for reason in reasons:
        print(f"a trial, not to be published: {reason}")
    trial = {"trial": reasons} if reasons else {}
    measurements.write(output, rows, settings=said, peers=peers(), **trial, turns=list(_taken))
    _taken.clear()
