"""The fused, unpacked bidirectional GRU against one sentence at a time through torch.nn.GRU."""

import pytest
import torch

from fairseq_outlayers.layers.recurrent.left_padded_gru import LeftPaddedGRU

INPUT, HIDDEN = 3, 4
LENGTHS = [5, 1, 3]


@pytest.fixture
def gru():
    torch.manual_seed(0)
    return LeftPaddedGRU(INPUT, HIDDEN).double()


def left_padded(value, seed=1):
    """Inputs with ``value`` where padded, and the mask."""
    inputs = torch.full((len(LENGTHS), max(LENGTHS), INPUT), value, dtype=torch.float64)
    mask = torch.ones(inputs.shape[:2], dtype=torch.bool)
    generator = torch.Generator().manual_seed(seed)
    for row, length in enumerate(LENGTHS):
        inputs[row, -length:] = torch.randn(length, INPUT, generator=generator, dtype=torch.float64)
        mask[row, -length:] = False
    return inputs, mask


def test_every_sentence_equals_itself_alone_in_both_directions(gru):
    inputs, mask = left_padded(0.7)
    others, _ = left_padded(-0.2, seed=2)
    states = gru(inputs, others, mask)
    for row, length in enumerate(LENGTHS):
        forwards, _ = gru.forwards(inputs[row, -length:].unsqueeze(1))
        backwards, _ = gru.backwards(others[row, -length:].flip(0).unsqueeze(1))
        expected = torch.cat([forwards[:, 0], backwards[:, 0].flip(0)], dim=-1)
        torch.testing.assert_close(states[row, -length:], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("value", [0.0, 30.0, -1e3])
def test_states_are_exactly_zero_where_padded_whatever_lies_there(gru, value, dtype):
    inputs, mask = left_padded(value)
    gru = gru.to(dtype)
    states = gru(inputs.to(dtype), inputs.to(dtype), mask)
    clean = left_padded(0.0)[0].to(dtype)
    assert states[mask].abs().max().item() == 0.0
    torch.testing.assert_close(states, gru(clean, clean, mask), rtol=0, atol=0)


def test_padding_gets_no_gradient(gru):
    inputs, mask = left_padded(0.5)
    inputs.requires_grad_()
    gru(inputs, inputs, mask).sum().backward()
    assert inputs.grad[mask].abs().max().item() == 0.0
    assert inputs.grad[~mask].abs().min().item() > 0.0
