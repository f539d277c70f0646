"""The fused LSTM where autocast asks for a precision that the CPU refuses."""

import pytest
import torch

from fairseq_outlayers.layers.recurrent import kernel_type as module
from fairseq_outlayers.layers.recurrent.fused_lstm import fused_lstm

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
def test_inputs_of_another_size_are_refused(size):
    """``torch.lstm`` reads beyond the memory of the inputs, or shifts them."""
    _, state, weights = given()
    with pytest.raises(ValueError, match=f"the weights are for inputs of size {D}"):
        fused_lstm(torch.zeros(T, B, size), state, weights, training=False)
