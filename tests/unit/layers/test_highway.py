"""Highway layers against their equation and its limits."""

import pytest
import torch

from fairseq_outlayers.layers.highway import Highway

SIZE = 5


@pytest.fixture
def layer():
    torch.manual_seed(0)
    layer = Highway(SIZE).double()
    torch.nn.init.normal_(layer.projection.bias)
    return layer


def inputs():
    return torch.randn(7, SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_a_highway_layer_is_its_equation(layer):
    x = inputs()
    a, b = layer.projection.weight.chunk(2)
    a_bias, b_bias = layer.projection.bias.chunk(2)
    for row, output in zip(x, layer(x), strict=True):
        t = 1 / (1 + torch.exp(-(a @ row + a_bias - 2)))
        expected = t * torch.clamp(b @ row + b_bias, min=0) + (1 - t) * row
        torch.testing.assert_close(output, expected)
        torch.testing.assert_close(layer.transform_gate(row), t)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_leaves_the_input_in_its_precision(dtype, layer):
    layer, x = layer.float(), inputs().float()
    with torch.autocast("cpu", dtype):
        output = layer(x)
    assert output.dtype == torch.float32
    torch.testing.assert_close(output, layer(x), rtol=0, atol=3e-2)


def test_a_closed_gate_is_the_identity_and_an_open_one_the_rectified_map(layer):
    x = inputs()
    with torch.no_grad():
        layer.projection.bias[:SIZE] = -1e9
        assert torch.equal(layer(x), x)
        layer.projection.bias[:SIZE] = 1e9
        b, bias = layer.projection.weight[SIZE:], layer.projection.bias[SIZE:]
        torch.testing.assert_close(layer(x), torch.relu(x @ b.t() + bias))


def test_at_the_start_little_is_transformed_whatever_initializes_the_parameters(layer):
    for parameter in layer.parameters():
        torch.nn.init.uniform_(parameter, -0.1, 0.1)
    gate = layer.transform_gate(inputs())
    assert 0.08 < gate.mean() < 0.16  # sigmoid(-2) = 0.12
