"""Training that is killed (-9) at moments nobody chose, and gone on with, in every mode.

A run is broken several times: before an update, or while a byte of a checkpoint is written. The
same command is given again until it ends, and what it has saved must equal, bit for bit, what a run
that nobody broke has saved.
"""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from tests.faults import warm, world
from tests.system.kill_at_save import kill_at_byte, nth_call

EPOCHS = 3
SAVING = "--save-interval-updates 4 --keep-interval-updates 1 --no-epoch-checkpoints"
TRAINING = (
    f"{world.COMMON} --optimizer adam --lr 0.01 --max-tokens 100 --disable-validation "
    f"--max-epoch {EPOCHS} --save-dir save {SAVING}"
)
LSTM = "--arch luong_lstm --embed-dim 8 --hidden-size 8 --dropout 0.1"
PARTITIONS = (
    f"train bin {TRAINING} {LSTM} --task translation_outlayers --criterion partition_softmax "
    "--partition-size 12"
)
ECHO = "--embed-dim 8 --hidden-size 8 --encoder-layers 1 --decoder-layers 1 --attention-heads 2"
FULL = f"train bin {TRAINING} {LSTM} --criterion full_softmax"
SAMPLED = "--criterion sampled_softmax --sampler unigram --num-sampled 6"
MODES = {
    "full": FULL,
    "sampled, lazy_adam": f"train bin {TRAINING} {LSTM} {SAMPLED}".replace(
        "--optimizer adam", "--optimizer lazy_adam"
    ),
    "partitions, reshuffled": f"{PARTITIONS} --reshuffle-partitions",
    "partitions of the authors": f"{PARTITIONS} --partition-mode authors --update-freq 2",
    "partitions, tables on the CPU": f"{PARTITIONS} --table-device cpu",
    "language model": f"train lm {TRAINING} --task subword_language_modeling --arch subword_lm "
    "--hidden-size 8 --composition charcnn --criterion full_softmax --batch-size 4 "
    "--tokens-per-sample 5".replace("--max-tokens 100", ""),
    "esnmt": f"train bin {TRAINING} --arch esnmt {ECHO} --criterion full_softmax",
    "joint": f"{FULL} --output-layer joint --joint-dim 6",
    "external": f"{FULL} --source-embedding mix_sum --external-embeddings table.npy".replace(
        "train bin", "train ext"
    ),
    "moving average": f"{FULL} --store-ema --ema-decay 0.9",
    "transformer": f"train bin {TRAINING} --arch transformer_tiny_outlayers --dropout 0.1 "
    "--output-layer tied --criterion full_softmax",
}
MODES["language model"] = MODES["language model"].replace("--max-tokens 100 ", "")


class Moment(NamedTuple):
    """When a run dies: before its n-th update, or at a byte of what it writes in its n-th save."""

    number: int
    byte: int = 0

    def arrange(self) -> None:
        """Called in the process that is to die."""
        if self.byte:
            from fairseq import checkpoint_utils

            nth_call(checkpoint_utils, "save_checkpoint", self.number, before=self._die_at_byte)
        else:
            from fairseq.trainer import Trainer

            nth_method(Trainer, "train_step", self.number, die)

    def _die_at_byte(self) -> None:
        kill_at_byte(self.byte)


def nth_method(owner: type, name: str, number: int, act: Callable[[], None]) -> None:
    """Run ``act`` before call ``number`` of a method."""
    stock = getattr(owner, name)
    calls = iter(range(1, 1_000_000))

    def method(self, *args, **kwargs):
        if next(calls) == number:
            act()
        return stock(self, *args, **kwargs)

    setattr(owner, name, method)


def die() -> None:
    """End as ``kill -9`` ends a process."""
    os.kill(os.getpid(), signal.SIGKILL)


def moments(mode: str, number: int, seed: int = 1) -> list:
    """Moments of ``number`` kills; one in three within a save."""
    generator = random.Random(f"{mode} {seed}")
    return [
        Moment(generator.randint(1, 2), generator.randint(1, 60_000))
        if kill % 3 == 2
        else Moment(generator.randint(1, 12))
        for kill in range(number)
    ]


class Result(NamedTuple):
    """What became of a run."""

    state: dict
    kills: int
    within_saves: int


def train(line: str, folder: Path, deaths: list = ()) -> Result:
    """Run a command until it ends, dying on the way at each of the moments in turn."""
    kills = within_saves = 0
    for moment in deaths:
        outcome = warm.run(line, folder=folder, seconds=120, before=moment.arrange)
        died = outcome.signal in (signal.SIGKILL, signal.SIGXFSZ)
        assert died or outcome.kind == "accepted", outcome.err[-3000:]
        kills += died
        within_saves += outcome.signal == signal.SIGXFSZ
    outcome = warm.run(line, folder=folder, seconds=120)
    assert outcome.kind == "accepted", (outcome.kind, outcome.err[-3000:])
    path = folder / "save" / "checkpoint_last.pt"
    state = torch.load(path, map_location="cpu", weights_only=False)
    return Result(state, kills, within_saves)


def differences(one: object, other: object, name: str = "") -> list:
    """Names of tensors and numbers in which two saved states differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return [f"{name}: {sorted(map(str, one.keys() ^ other.keys()))}"]
        return [d for key in one for d in differences(one[key], other[key], f"{name}.{key}")]
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return [name]
        pairs = enumerate(zip(one, other, strict=True))
        return [d for number, (a, b) in pairs for d in differences(a, b, f"{name}.{number}")]
    if torch.is_tensor(one) and torch.is_tensor(other):
        return [] if torch.equal(one, other) else [name]
    return [] if one == other else [name]


def learned(state: dict) -> dict:
    """What training made: parameters, averages, moments, number of updates."""
    parts = {name: state[name] for name in ("model", "last_optimizer_state")}
    extra = state.get("extra_state", {})
    parts["ema"] = extra.get("ema", {})
    parts["updates"] = state["optimizer_history"][-1]["num_updates"]
    return parts
