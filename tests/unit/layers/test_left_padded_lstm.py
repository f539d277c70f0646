"""The fused, unpacked LSTM against one sentence at a time through torch.nn.LSTM."""

import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.layers.padding import padding_first, reversal, take_positions
from fairseq_outlayers.layers.recurrent.left_padded_lstm import LeftPaddedLSTM

INPUT, HIDDEN, LAYERS = 3, 4, 2
LENGTHS = [5, 1, 3]


@pytest.fixture(params=[False, True], ids=["unidirectional", "bidirectional"])
def lstm(request):
    torch.manual_seed(0)
    return LeftPaddedLSTM(INPUT, HIDDEN, LAYERS, bidirectional=request.param).double()


def left_padded(value):
    """Inputs with ``value`` where padded, and the mask."""
    inputs = torch.full((len(LENGTHS), max(LENGTHS), INPUT), value, dtype=torch.float64)
    mask = torch.ones(inputs.shape[:2], dtype=torch.bool)
    generator = torch.Generator().manual_seed(1)
    for row, length in enumerate(LENGTHS):
        inputs[row, -length:] = torch.randn(length, INPUT, generator=generator, dtype=torch.float64)
        mask[row, -length:] = False
    return inputs, mask


def reference(ours, sentence):
    """States, final hidden and final cell of each layer for one unpadded sentence."""
    states, hiddens, cells = sentence.unsqueeze(0), [], []
    for directions in ours.layers:
        outputs, finals = [], []
        for backwards, layer in enumerate(directions):
            plain = nn.LSTM(layer.input_size, layer.hidden_size, batch_first=True).double()
            plain.load_state_dict(layer.state_dict())
            output, final = plain(states.flip(1) if backwards else states)
            outputs.append(output.flip(1) if backwards else output)
            finals.append(final)
        states = torch.cat(outputs, -1)
        hiddens.append(torch.cat([hidden[0, 0] for hidden, _ in finals]))
        cells.append(torch.cat([cell[0, 0] for _, cell in finals]))
    return states[0], hiddens, cells


def test_every_sentence_equals_itself_alone(lstm):
    inputs, mask = left_padded(value=0.7)
    states, hiddens, cells = lstm(inputs, mask)
    for row, length in enumerate(LENGTHS):
        expected, expected_hiddens, expected_cells = reference(lstm, inputs[row, -length:])
        torch.testing.assert_close(states[row, -length:], expected, rtol=1e-12, atol=1e-12)
        for layer in range(LAYERS):
            torch.testing.assert_close(hiddens[layer][row], expected_hiddens[layer])
            torch.testing.assert_close(cells[layer][row], expected_cells[layer])


def test_other_inputs_of_the_backward_direction_are_those_of_the_first_layer_alone():
    torch.manual_seed(0)
    lstm = LeftPaddedLSTM(HIDDEN, HIDDEN, LAYERS, bidirectional=True).double()
    inputs, others = torch.randn(2, len(LENGTHS), 5, HIDDEN, dtype=torch.float64)
    mask = torch.arange(5) < 5 - torch.tensor(LENGTHS)[:, None]
    first, second = lstm.layers
    lstm.layers = nn.ModuleList([first])
    below, *_ = lstm(inputs, mask, others)
    forwards, backwards = (lstm(x, mask)[0].chunk(2, dim=-1) for x in (inputs, others))
    assert torch.equal(below, torch.cat([forwards[0], backwards[1]], dim=-1))
    lstm.layers = nn.ModuleList([second])
    expected, *_ = lstm(below, mask)
    lstm.layers = nn.ModuleList([first, second])
    torch.testing.assert_close(lstm(inputs, mask, others)[0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 30.0, -1e3])
def test_states_are_exactly_zero_where_padded_whatever_lies_there(lstm, value):
    inputs, mask = left_padded(value)
    states, _, _ = lstm(inputs, mask)
    assert states[mask].abs().max().item() == 0.0
    torch.testing.assert_close(states, lstm(left_padded(0.0)[0], mask)[0], rtol=0, atol=0)


def test_padding_gets_no_gradient(lstm):
    inputs, mask = left_padded(0.5)
    inputs.requires_grad_()
    lstm(inputs, mask)[0].sum().backward()
    assert inputs.grad[mask].abs().max().item() == 0.0
    assert inputs.grad[~mask].abs().min().item() > 0.0


def test_an_odd_size_cannot_be_halved():
    with pytest.raises(ValueError, match="5"):
        LeftPaddedLSTM(INPUT, 5, 1, bidirectional=True)


def test_reversal_is_its_own_inverse_and_keeps_padding_in_front():
    _, mask = left_padded(0.0)
    order = reversal(mask)
    assert order.tolist()[1] == [0, 1, 2, 3, 4]
    assert order.tolist()[2] == [0, 1, 4, 3, 2]
    assert torch.equal(order.gather(1, order), torch.arange(5).expand(3, 5))


def test_padding_first_keeps_the_order_of_tokens():
    tokens = torch.tensor([[7, 8, 9, 1, 1], [1, 7, 1, 8, 1]])
    mask = tokens.eq(1)
    assert tokens.gather(1, padding_first(mask)).tolist() == [[1, 1, 7, 8, 9], [1, 1, 1, 7, 8]]


def test_take_positions_and_its_inverse():
    states = torch.randn(2, 5, 3)
    order = padding_first(torch.tensor([[0, 0, 0, 1, 1], [1, 0, 1, 0, 1]]).bool())
    assert torch.equal(take_positions(take_positions(states, order), order.argsort(1)), states)
