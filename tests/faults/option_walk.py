"""Every option of ours with values that no one means: 0, -1, 1e30, nan, inf, nothing, 10^18."""

import argparse
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from fairseq_outlayers.commands.options_page import REGISTRIES, _stock_options
from fairseq_outlayers.registered_options import KINDS, actions_of, parts_of_ours
from tests.faults import world

VALUES = ("0", "-1", "1e30", "nan", "inf", "", "1000000000000000000")
NO_NUMBERS = ("nan", "inf")

SIZES = "--encoder-layers 1 --decoder-layers 1"
TINY = "--embed-dim 8 --hidden-size 8"
TRANSFORMER = (
    f"--encoder-embed-dim 8 --decoder-embed-dim 8 --encoder-ffn-embed-dim 8 {SIZES} "
    "--decoder-ffn-embed-dim 8 --encoder-attention-heads 2 --decoder-attention-heads 2"
)
# What a part needs beside its name; named sizes have the options of their family.
NEEDS = {
    "--arch luong_lstm": TINY,
    "--arch nematus_gru": TINY,
    "--arch rnnsearch": f"{TINY} --maxout-size 8",
    "--arch rnmt_plus": f"{TINY} {SIZES} --attention-heads 2",
    "--arch esnmt": f"{TINY} {SIZES} --attention-heads 2",
    "--arch esnmt_lstm": f"{TINY} {SIZES} --attention-heads 2",
    "--arch transformer_outlayers": TRANSFORMER,
    "--criterion sampled_softmax": "--num-sampled 5",
    "--criterion partition_softmax": "--task translation_outlayers --partition-size 12",
}
# An option that acts only beside another.
BESIDE = {
    "joint_dim": "--output-layer joint",
    "joint_layers": "--output-layer joint",
    "deep_residual_layers": "--output-layer deep_residual",
    "deep_residual_dropout": "--output-layer deep_residual",
    "unigram_power": "--sampler unigram",
    "proposal_smoothing": "--sampler proposal --proposal-file proposal",
    "internal_vocabulary": "--source-embedding internal",
    "partition_size": "--criterion partition_softmax",
    "source_partition_size": "--criterion partition_softmax --partition-size 12",
    "reservoir_seed": "--arch esnmt",
}
LANGUAGE_MODEL = {"unit_dim", "highway_dim", "char_widths", "char_filters"}


class Step(NamedTuple):
    """One option with one value."""

    name: str
    value: str
    is_number: bool
    line: str


def steps() -> Iterator[Step]:
    """Each option of each part of ours once, whichever parts share it."""
    seen = set()
    for part, action in _parts():
        if action.dest in seen or not action.option_strings or action.nargs == 0:
            continue
        seen.add(action.dest)
        is_number = action.type in (int, float)
        for value in VALUES:
            option = f"{action.option_strings[0]}={shlex.quote(value)}"
            line = f"{_command(part, action.dest)} {option}"
            yield Step(action.dest, value, is_number, line)


def _parts() -> Iterator[tuple[str, argparse.Action]]:
    """``--arch NAME`` and the like, with every option that the part adds to fairseq's."""
    for _, selector, classes, dataclasses in KINDS:
        for name, part in parts_of_ours(classes).items():
            if f"{selector} {name}" in _walked(selector, name):
                stock = _stock_options(part, dataclasses.get(name))
                for action in actions_of(part, dataclasses.get(name)):
                    if action.dest not in stock:
                        yield f"{selector} {name}", action
    for _, option, _, _, config in REGISTRIES:
        selector = "--criterion sampled_softmax" if option == "sampler" else "--arch luong_lstm"
        for action in actions_of(None, config):
            yield selector, action


def _walked(selector: str, name: str) -> set:
    family = f"{selector} {name}"
    sizes = selector == "--arch" and family not in NEEDS and name != "subword_lm"
    return set() if sizes else {family}


def _command(part: str, option: str) -> str:
    """The command of the good world in which a part is the one in use."""
    if option in LANGUAGE_MODEL or part == "--arch subword_lm" or "language_modeling" in part:
        return world.TRAIN_LM
    beside = BESIDE.get(option, "")
    more = [part, NEEDS.get(part, ""), beside, NEEDS.get(beside.partition(" -")[0], "")]
    words = world.TRAIN.split()
    line = " ".join(words)
    if beside.startswith("--arch") or part.startswith("--arch"):
        line = line.replace("--arch luong_lstm --embed-dim 8 --hidden-size 8", "")
    if part.startswith("--task translation"):
        more.append("--task translation_outlayers")
    if part.startswith("--optimizer"):
        more.append("--lr 0.01")
    return f"{line} {' '.join(filter(None, more))}"
