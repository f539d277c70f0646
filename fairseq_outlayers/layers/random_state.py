"""Run code without advancing the RNG."""

from typing import Any

import torch


def forked_rng(device: torch.device) -> Any:
    """A context that restores the RNG of the CPU and of a device at its end."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])
