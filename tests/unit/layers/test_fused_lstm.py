"""The fused LSTM where autocast asks for a precision that the CPU refuses."""

import pytest
import torch

from fairseq_outlayers.layers.recurrent import kernel_dtype as module
from fairseq_outlayers.layers.recurrent import left_padded_gru
from fairseq_outlayers.layers.recurrent.fused_lstm import fused_lstm
from fairseq_outlayers.reservoirs.frozen_lstm import _LSTMStates

T, B, D, H = 4, 3, 5, 6


def given():
    generator = torch.Generator().manual_seed(1)
    sizes = [(4 * H, D), (4 * H, H), (4 * H,), (4 * H,)]
    weights = [torch.randn(size, generator=generator).requires_grad_() for size in sizes]
    start = torch.zeros(1, B, H)
    return torch.randn(T, B, D, generator=generator), (start, start), weights


def test_a_precision_that_the_cpu_refuses_is_replaced_by_float32(monkeypatch):
    monkeypatch.setattr(module, "_cpu_computes", lambda dtype: False)
    inputs, state, weights = given()
    expected = fused_lstm(inputs, state, weights, training=True)
    with torch.autocast("cpu", torch.bfloat16):
        found = fused_lstm(inputs, state, weights, training=True)
        of_low = fused_lstm(inputs.bfloat16(), state, weights, training=True)
    for one, low, other in zip(found, of_low, expected, strict=True):
        assert torch.equal(one, other)
        torch.testing.assert_close(low, other, rtol=0, atol=2**-5)  # inputs have 8 bits
    found[0].sum().backward()
    assert all(weight.grad.dtype == torch.float32 for weight in weights)


def test_without_autocast_the_cpu_is_not_asked(monkeypatch):
    monkeypatch.setattr(module, "_cpu_computes", lambda dtype: 1 / 0)
    inputs, state, weights = given()
    assert fused_lstm(inputs, state, weights, training=False)[0].dtype == torch.float32


@pytest.mark.parametrize("size", [D - 1, D + 1])
@pytest.mark.parametrize("kind", ["trained", "frozen"])
def test_inputs_of_another_size_are_refused(kind, size):
    """``torch.lstm`` reads beyond the memory of the inputs, or shifts them."""
    _, state, weights = given()
    inputs, ones = torch.zeros(T, B, size), torch.ones(1)
    matrices = weights[1].detach(), weights[0].detach()
    run = {
        "trained": lambda: fused_lstm(inputs, state, weights, training=False),
        "frozen": lambda: _LSTMStates.apply(
            inputs, *(each[0] for each in state), ones, ones, *matrices, False
        ),
    }
    with pytest.raises(ValueError, match=f"the weights are for inputs of size {D}"):
        run[kind]()


def test_shapes_are_inferred_without_a_device():
    inputs, state, weights = given()
    states, _, _ = fused_lstm(
        inputs.to("meta"),
        tuple(each.to("meta") for each in state),
        [weight.to("meta") for weight in weights],
        training=False,
    )
    assert states.shape == (T, B, H)


def test_a_gru_computes_in_float32_where_the_cpu_refuses_the_precision(monkeypatch):
    monkeypatch.setattr(module, "_cpu_computes", lambda dtype: False)
    gru, inputs = torch.nn.GRU(D, H), given()[0]
    mask = torch.zeros(B, T, dtype=torch.bool)
    expected = left_padded_gru._run(gru, inputs.transpose(0, 1), mask)
    with torch.autocast("cpu", torch.bfloat16):
        found = left_padded_gru._run(gru, inputs.transpose(0, 1), mask)
    assert torch.equal(found, expected)
