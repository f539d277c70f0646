"""Checks before a model is built: ranges of its options, and its minimum size."""

import os
from pathlib import Path
from typing import Any

import torch

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.ranges import check_ranges

PARAMETER_BYTES = 4
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def check_model(cfg: Any, dataclass: Any, task: Any, gates: int = 1) -> None:
    """Check options before a model is built.

    Args:
        cfg: the model's options.
        dataclass: declares their ranges.
        task: has the dictionaries.
        gates: of a recurrent cell, 1 for other layers.
    Raises:
        UserError: if a number is out of its range, or the weights exceed the machine's memory.
    """
    check_ranges(cfg, dataclass)
    if torch.empty(0).device.type == "meta":  # built to count parameters, without memory
        return
    least, memory = least_parameters(cfg, len(task.target_dictionary), gates), machine_memory()
    size = least * PARAMETER_BYTES
    if size > memory:
        raise UserError(
            f"the model would have at least {least:,} parameters, {size / 1e9:,.1f} GB in float32, "
            f"and this machine has {memory / 1e9:,.1f} GB: reduce its widths (--embed-dim, "
            "--hidden-size, ...) or its number of layers"
        )


def least_parameters(cfg: Any, num_classes: int, gates: int = 1) -> int:
    """A lower bound of the number of parameters, including frozen ones, from the options.

    Counts a table of target words, a square matrix per layer, and matrices between two widths. For
    each gate of a recurrent layer it counts half a square matrix for the state, because two
    directions may share the width, and a square one for the input from a layer below. Options that
    a model does not have count as 0.
    """

    def number(*names: str) -> int:
        return next((value for name in names if (value := getattr(cfg, name, None))), 0)

    embed, hidden = number("embed_dim", "decoder_embed_dim"), number("hidden_size")
    composed = number("character_embeddings", "adaptive_input")
    least = 0 if composed else num_classes * embed
    layers = number("encoder_layers") + number("decoder_layers") or number("lstm_layers") or 2
    if hidden:
        inner = max(layers - 2, 0)  # the first layers of encoder and decoder read embeddings
        least += max(layers, gates * layers // 2 + gates * inner) * hidden**2
    else:
        least += layers * min(embed, number("encoder_embed_dim") or embed) ** 2
    least += number("encoder_layers") * number("encoder_embed_dim") * number(
        "encoder_ffn_embed_dim"
    ) + number("decoder_layers") * number("decoder_embed_dim") * number("decoder_ffn_embed_dim")
    least += hidden * (embed + number("maxout_size") + number("attention_size"))
    if getattr(cfg, "output_layer", None) == "joint":
        width = number("joint_dim")
        least += width * (embed or hidden) + 2 * (number("joint_layers") - 1) * width**2
    return least


def machine_memory() -> int:
    """Bytes of memory available to this process."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = CGROUP_LIMIT.read_text().strip()
    except OSError:
        return physical
    return min(physical, int(limit)) if limit.isdecimal() else physical
