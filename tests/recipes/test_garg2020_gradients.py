"""Gradient norms back through time, as the recipe of Garg et al. (2020) plots them."""

import numpy as np
import pytest
import torch

from recipes.garg2020_esnmt import gradients
from tests.conftest import make_batch, make_model, make_task


class Sentences(list):
    """A data set as far as it is asked for."""

    def __init__(self, sizes, batch):
        super().__init__(range(len(sizes)))
        self.src_sizes, self.collater = sizes, lambda rows: batch


def measured(monkeypatch, arch, **options):
    """The model in single precision, and its norms on sentences of 8 to 12 tokens."""
    task = make_task()
    model = make_model(arch, task, **options)
    sizes = np.array([8, 10, 12])
    batch = make_batch(task, [(size - 1, 3) for size in sizes])
    task.load_dataset, task.dataset = (lambda split: None), (lambda split: Sentences(sizes, batch))
    monkeypatch.setattr(
        gradients.checkpoint_utils,
        "load_model_ensemble_and_task",
        lambda paths, arg_overrides: ([model], None, task),
    )
    return model, gradients.decay("checkpoint_best.pt", "data")


def test_near_zero_the_gradient_of_an_echo_state_follows_the_powers_of_its_matrix(monkeypatch):
    model, norms = measured(monkeypatch, "esnmt", gamma_init=1e-4, spectral_radius="0.9")
    layer = model.encoder.lstm.layers[0][0]
    vectors = torch.randn(3, layer.hidden_size, generator=torch.Generator().manual_seed(0))
    expected = []
    for _ in norms[0]:
        expected.append((vectors @ layer.reservoir.input).norm(dim=-1))
        vectors = vectors @ (0.9 * layer.reservoir.recurrent)
    ratios = torch.stack(expected) / expected[0]
    assert len(norms[0]) == 8  # as long as the shortest sentence
    assert norms[0] == pytest.approx(ratios.log().mean(dim=1).exp().tolist(), rel=1e-3)


@pytest.mark.parametrize("arch", ["rnmt_plus", "esnmt", "esnmt_lstm"])
def test_every_kind_of_layer_is_measured_at_every_depth(monkeypatch, arch):
    _, norms = measured(monkeypatch, arch)
    assert len(norms) == 3
    assert all(curve[0] == pytest.approx(1) for curve in norms)
    assert all(0 < value < 10 for curve in norms for value in curve)


def test_the_half_life_is_that_of_an_exponential():
    assert gradients.half_life([0.5 ** (k / 3) for k in range(9)]) == pytest.approx(3)
    assert gradients.half_life([1.0, 1.1, 1.2]) == float("inf")
