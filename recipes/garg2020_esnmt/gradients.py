"""Decay of gradients through time in frozen and trained layers."""

import logging
from argparse import Namespace
from pathlib import Path

import numpy as np
import torch
from fairseq import checkpoint_utils, utils

from recipes.lab.running.run_arm import USER_DIR

SENTENCES = 64
STEPS = 15
# Importing fairseq enables debug messages of other libraries.
logging.getLogger().setLevel(logging.WARNING)


def decay(checkpoint: Path, data: str) -> list[list[float]]:
    """Norms of the gradient of the last state with respect to earlier inputs.

    For every forward encoder layer, on the longest validation sentences, the state at the last
    token is multiplied by a random vector and differentiated with respect to the layer's inputs.

    Returns:
        For each layer, norms by distance 0, 1, ... in time, relative to distance 0; geometric means
        over sentences.
    """
    utils.import_user_module(Namespace(user_dir=str(USER_DIR)))
    models, _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(checkpoint)], arg_overrides={"data": data}
    )
    model = utils.move_to_cpu(models[0]).float().eval()
    task.load_dataset("valid")
    dataset = task.dataset("valid")
    longest = np.argsort(-dataset.src_sizes, kind="stable")[:SENTENCES]
    steps = min(STEPS, dataset.src_sizes[longest].min())
    batch = dataset.collater([dataset[number] for number in longest])
    tokens = batch["net_input"]["src_tokens"]
    stack, norms = model.encoder.lstm, []

    def note(layer: torch.nn.Module, arguments: tuple, keywords: dict) -> None:
        inputs = arguments[0].detach().requires_grad_()
        states, _ = type(layer).forward(layer, inputs, padding=keywords["padding"])
        generator = torch.Generator().manual_seed(0)
        vector = torch.randn(states.shape[1:], generator=generator)
        (states[-1] * vector).sum().backward(inputs=[inputs])
        back = inputs.grad[-steps:].norm(dim=-1).flip(0).clamp_min(1e-30)
        norms.append((back / back[0]).log().mean(dim=1).exp().tolist())

    for forwards, _ in stack.layers:
        forwards.register_forward_pre_hook(note, with_kwargs=True)
    with torch.enable_grad():
        model.encoder(tokens)
    return norms


def half_life(norms: list[float]) -> float:
    """Half-life of the norm in steps, by a linear fit of its logarithms."""
    slope = np.polyfit(np.arange(len(norms)), np.log2(norms), 1)[0]
    return float(-1 / slope) if slope < 0 else float("inf")
