"""Variational LSTM layers against a loop over time that applies the masks where the paper does."""

import pytest
import torch

from fairseq_outlayers.layers.recurrent.variational_dropout import VariationalLSTM

BATCH, STEPS, INPUT, HIDDEN, LAYERS = 3, 5, 4, 6, 2


def make(dropout=0.5, per_row=False):
    torch.manual_seed(0)
    lstm = VariationalLSTM(INPUT, HIDDEN, LAYERS, dropout, per_row).double()
    for parameter in lstm.parameters():
        torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return lstm


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def loop(lstm, inputs, state, masks):
    """The equations, step by step: h is masked wherever it is used, the cell never."""
    outputs = []
    hidden, cell = [list(state[:, half]) for half in (0, 1)]
    for step in range(inputs.size(1)):
        below = inputs[:, step]
        for number, layer in enumerate(lstm.layers):
            gates = below @ layer.input.weight.t() + layer.input.bias
            gates = gates + hidden[number] @ layer.recurrent.t()
            i, f, g, o = gates.split(HIDDEN, dim=1)
            forget = torch.sigmoid(f + 1)
            cell[number] = forget * cell[number] + torch.sigmoid(i) * torch.tanh(g)
            hidden[number] = masks[number] * torch.sigmoid(o) * torch.tanh(cell[number])
            below = hidden[number]
        outputs.append(below)
    carried = torch.stack([torch.stack(pair) for pair in zip(hidden, cell, strict=True)])
    return torch.stack(outputs, dim=1), carried


def run_with_masks(lstm, inputs, state):
    """The layers' output, and the masks that they drew."""
    torch.manual_seed(5)
    masks = [lstm.draw_mask(inputs.size(0), layer) for layer in lstm.layers]
    torch.manual_seed(5)
    return lstm(inputs, state), masks


@pytest.mark.parametrize("per_row", [False, True], ids=["mask for the batch", "mask per row"])
@pytest.mark.parametrize("steps", [1, STEPS])
def test_a_window_equals_the_loop_and_so_do_its_gradients(per_row, steps):
    lstm = make(per_row=per_row)
    inputs, state = random(BATCH, steps, INPUT), random(LAYERS, 2, BATCH, HIDDEN)
    (outputs, carried), masks = run_with_masks(lstm, inputs, state)
    expected, expected_state = loop(lstm, inputs, state, masks)
    torch.testing.assert_close(outputs, expected, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(carried, expected_state, rtol=1e-12, atol=1e-14)
    weights = random(*outputs.shape)
    gradients = torch.autograd.grad((outputs * weights).sum(), lstm.parameters())
    by_loop = torch.autograd.grad((expected * weights).sum(), lstm.parameters())
    for one, other in zip(gradients, by_loop, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_without_a_mask_windows_are_pieces_of_one_long_window():
    lstm = make().eval()
    inputs = random(BATCH, 2 * STEPS, INPUT)
    whole, last = lstm(inputs)
    ones = torch.ones(LAYERS, HIDDEN, dtype=torch.float64)
    expected, _ = loop(lstm, inputs, torch.zeros(LAYERS, 2, BATCH, HIDDEN).double(), ones)
    torch.testing.assert_close(whole, expected)
    first, state = lstm(inputs[:, :STEPS])
    second, state = lstm(inputs[:, STEPS:], state)
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole)
    torch.testing.assert_close(state, last)


def test_a_dropped_unit_is_zero_at_every_step_and_in_the_state_carried_on():
    lstm = make()
    (outputs, carried), masks = run_with_masks(lstm, random(BATCH, STEPS, INPUT), None)
    dropped = masks[-1] == 0
    assert 0 < dropped.sum() < HIDDEN
    assert outputs[..., dropped].abs().max() == 0
    assert carried[-1, 0][:, dropped].abs().max() == 0
    assert carried[-1, 1][:, dropped].abs().min() > 0  # cells are never dropped


def test_masks_keep_the_expected_value_and_are_drawn_anew_each_time():
    lstm = VariationalLSTM(1, 50, 1, dropout=0.25)
    masks = torch.stack([lstm.draw_mask(3, lstm.layers[0]) for _ in range(400)])
    assert masks.unique().tolist() == pytest.approx([0, 4 / 3])
    assert masks.mean().item() == pytest.approx(1, abs=0.02)
    assert not torch.equal(masks[0], masks[1])
    assert lstm.eval().draw_mask(3, lstm.layers[0]) is None


def test_a_layer_has_one_bias_for_each_gate():
    count = sum(parameter.numel() for parameter in make().parameters())
    assert count == 4 * HIDDEN * (INPUT + HIDDEN + 1) + 4 * HIDDEN * (2 * HIDDEN + 1)


def test_a_state_of_another_precision_is_converted():
    lstm, inputs = make().eval(), random(BATCH, STEPS, INPUT)
    state = random(LAYERS, 2, BATCH, HIDDEN).float()
    for found, expected in zip(lstm(inputs, state), lstm(inputs, state.double()), strict=True):
        assert torch.equal(found, expected)
