"""Random numbers that change no later draw."""

from typing import Any

import torch


def random_state_kept(device: torch.device) -> Any:
    """A context after which the generators of the CPU and of a device are as before it."""
    return torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])
