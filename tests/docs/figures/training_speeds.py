"""Speed and memory of training by size of the vocabulary, from files in results/benchmarks/."""

import json
import re
from itertools import pairwise
from statistics import harmonic_mean

from tests.docs.figures.statement import ROOT, by_round, rows

HUGE, LARGE, SMALL = 500_000, 100_000, 30_000
SIZES = (SMALL, LARGE, HUGE)
Spread = tuple[float, float, float]


class Measured:
    """Rows of a file of this benchmark."""

    def __init__(self, name: str):
        self.rows = rows(f"benchmarks/{name}.json", "arm")

    def speed(self, arm: str, words: int = HUGE) -> float:
        """Target tokens per second."""
        return self.rows[f"{arm}.V{words}"]["tokens_per_second"]

    def peak(self, arm: str, words: int = HUGE) -> float:
        """Peak memory in MB."""
        return self.rows[f"{arm}.V{words}"]["peak_mb"]

    def times(self, arm: str, words: int = HUGE, of: str = "stock") -> Spread:
        """How many times the speed of another arm, by rounds."""
        one, other = (self.rows[f"{name}.V{words}"]["rounds"] for name in (arm, of))
        return by_round(one, other)

    def line(self, arm: str, sizes: tuple[int, ...] = SIZES) -> list[float]:
        """Speed and its spread relative to stock, for each size."""
        return [x for size in sizes for x in (self.speed(arm, size), *self.times(arm, size))]


LSTM = Measured("large_vocabulary")
TRANSFORMER = Measured("large_vocabulary_transformer")
BOTH = (LSTM, TRANSFORMER)
# With the adaptive softmax and our optimizer.
LAZY = Measured("large_vocabulary_adaptive")
LAZY_TRANSFORMER = Measured("large_vocabulary_adaptive_transformer")


def factors() -> list[float]:
    """What each change of the LSTM with 500,000 words gains: our model, samples, `lazy_adam`."""
    steps = ("stock", "exact", "sampled_adam", "sampled")
    return [LSTM.times(b, of=a)[0] for a, b in pairwise(steps)]


def lazy_by_adam() -> list[Spread]:
    """The adaptive softmax with `lazy_adam` relative to Adam: LSTM, Transformer."""
    return [found.times("adaptive_lazy", of="adaptive") for found in (LAZY, LAZY_TRANSFORMER)]


def samples_by_lazy() -> list[Spread]:
    """Samples relative to the adaptive softmax with `lazy_adam`: LSTM, Transformer."""
    return [found.times("sampled", of="adaptive_lazy") for found in (LAZY, LAZY_TRANSFORMER)]


def gpu(arm: str) -> tuple[list[float], float]:
    """Tokens per second on a GPU in each round, without its first line, and memory in GB."""
    text = (ROOT / "results/benchmarks/large_vocabulary.gpu.txt").read_text(encoding="utf-8")
    rounds = re.findall(rf"(?m)^== {arm}, round \d\n((?:train_inner.*\n)+)", text)
    lines = [
        [json.loads(line.split(" | ", 1)[1]) for line in each.splitlines()][1:] for each in rounds
    ]
    speeds = [harmonic_mean(float(line["wps"]) for line in each) for each in lines]
    return speeds, 140 - min(float(line["gb_free"]) for each in lines for line in each)


def gpu_times(arm: str) -> list[float]:
    """How many times the speed of fairseq's LSTM, in each round."""
    return [a / b for a, b in zip(gpu(arm)[0], gpu("stock")[0], strict=True)]
