"""What frozen layers do to the size of their inputs, against the linear limit of the equations."""

import pytest
import torch

from fairseq_outlayers.analysis.echo_gains import output_gain
from fairseq_outlayers.models.esnmt import ESNMT, ESNMTLSTM, ESNMTConfig, ESNMTLSTMConfig
from fairseq_outlayers.reservoirs.options import make_reservoir
from tests.unit.reservoirs.test_recurrent_layers import naive_step

CELLS = {"simple": (ESNMT, ESNMTConfig), "lstm": (ESNMTLSTM, ESNMTLSTMConfig)}


def layer(cell, hidden_size=256, **options):
    model, config = CELLS[cell]
    cfg = config(hidden_size=hidden_size, **options)
    return model.frozen_layer(cfg, make_reservoir(cfg, model.kind, "layer", 2 * hidden_size))


@pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("radius", [0.0, 0.25, 0.5])
def test_small_inputs_of_a_simple_cell_gain_gamma_over_the_root_of_1_minus_radius_squared(
    radius, gamma
):
    # Var h = radius^2 Var h + gamma^2 Var x, because Wr of radius 1 keeps the norm on average.
    found = output_gain(layer("simple", gamma_init=gamma, radius_init=radius), 1e-3).gain
    assert found == pytest.approx(gamma / (1 - radius**2) ** 0.5, rel=0.05)


@pytest.mark.parametrize("gamma", [0.5, 3.5])
@pytest.mark.parametrize("radius", [0.0, 0.5, 1.5])
def test_small_inputs_of_an_lstm_cell_gain_what_the_linear_limit_has(radius, gamma):
    """docs/echo_states.md. If c and its candidate were independent, it would be 11% less at 1.5."""
    frozen = layer("lstm", gamma_init=gamma, radius_init=radius)
    found = output_gain(frozen, 1e-3, length=80, settling=40).gain
    expected = gamma / ((4 - radius**2) * (36 - radius**2)) ** 0.25
    assert found == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("gamma", "deviation", "size", "share"),
    [
        (10.0, 0.9, 512, 0.985),
        (1.0, 0.9, 512, 0.85),
        (0.1, 0.9, 512, 0.10),
        (10.0, 0.04 / 3**0.5, 256, 0.33),  # 512 embeddings in [-0.04, 0.04]
    ],
)
def test_unnormalized_inputs_saturate_as_a_normal_distribution_would(gamma, deviation, size, share):
    frozen = layer("simple", size, echo_start="paper", gamma_init=gamma)
    assert output_gain(frozen, deviation).saturated == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("cell", CELLS)
def test_the_gain_is_that_of_the_equations_step_by_step(cell):
    frozen = layer(cell, hidden_size=24).double()
    found = output_gain(frozen, 0.3, batch=2, length=6, settling=2)
    generator = torch.Generator().manual_seed(1)
    inputs = 0.3 * torch.randn(6, 2, 48, generator=generator).double()
    states = []
    for row in range(2):
        state = (torch.zeros(24, dtype=torch.float64),) * frozen.state_size
        for position in range(6):
            state = naive_step(frozen, inputs[position, row], state)
            if position >= 2:
                states.append(state[0])
    states = torch.stack(states)
    assert found.gain == pytest.approx(states.std().item() / 0.3, rel=1e-5)
    assert found.saturated == pytest.approx((states.abs() > 0.99).double().mean().item())


@pytest.mark.parametrize(
    ("cell", "deviation"), [("simple", 0.84), ("lstm", 0.03), ("lstm", 0.05), ("lstm", 0.1)]
)
def test_the_defaults_keep_the_variance_of_the_output_and_the_papers_values_do_not(cell, deviation):
    assert output_gain(layer(cell), deviation).gain == pytest.approx(1, abs=0.1)
    paper = output_gain(layer(cell, echo_start="paper"), deviation)
    assert paper.gain > 1.1
    if cell == "simple":
        assert paper.saturated > 0.9


def test_a_stack_of_simple_cells_brings_inputs_of_any_size_to_one_deviation():
    frozen = layer("simple")
    for deviation in (0.02, 0.2, 2.0):
        for _ in range(5):
            deviation *= output_gain(frozen, deviation).gain
        assert deviation == pytest.approx(0.84, abs=0.02)
