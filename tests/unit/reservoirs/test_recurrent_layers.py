"""Recurrent layers, frozen and trained, against their equations, in float64."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch

from fairseq_outlayers.layers.recurrent import tf32
from fairseq_outlayers.layers.recurrent.layer_norm_lstm import LayerNormLSTM
from fairseq_outlayers.reservoirs.echo_state import EchoStateLayer
from fairseq_outlayers.reservoirs.frozen_lstm import FrozenLSTM
from fairseq_outlayers.reservoirs.reservoir import Reservoir
from fairseq_outlayers.reservoirs.scale import Scale, fold

INPUT, HIDDEN = 3, 6
LENGTHS = [5, 1, 3]


def reservoir(gates, units=HIDDEN):
    return Reservoir("layer", 1, INPUT, units, gates, sparsity=0.25)


def echo_state(radius=0.8, gamma=0.7, leak_rate=1.0, units=HIDDEN):
    return EchoStateLayer(reservoir(1, units), Scale(radius), Scale(gamma), leak_rate).double()


def frozen_lstm(gates=1):
    layer = FrozenLSTM(reservoir(4), Scale(0.8, gates=gates), Scale(0.7, gates=gates)).double()
    if gates > 1:
        for scale in (layer.radius, layer.gamma):
            scale.value.data.mul_(torch.tensor([1.0, 0.5, 1.5, 0.8]))
    return layer


def layer_norm_lstm():
    torch.manual_seed(0)
    layer = LayerNormLSTM(INPUT, HIDDEN).double()
    torch.nn.init.normal_(layer.bias)
    torch.nn.init.normal_(layer.gain, mean=1)
    return layer


LAYERS = {
    "echo state": echo_state,
    "leaky echo state": lambda: echo_state(leak_rate=0.3),
    "frozen LSTM": frozen_lstm,
    "frozen LSTM, scales a gate": lambda: frozen_lstm(4),
    "layer norm LSTM": layer_norm_lstm,
}
each_layer = pytest.mark.parametrize("layer", [make() for make in LAYERS.values()], ids=LAYERS)


def naive_step(layer, x, state):
    """One step of one sentence, from the equations."""
    h = state[0]
    if isinstance(layer, EchoStateLayer):
        wi, wr = layer.reservoir.input, layer.reservoir.recurrent
        drive = layer.radius.value * (wr @ h) + layer.gamma.value * (wi @ x)
        return ((1 - layer.leak_rate) * h + layer.leak_rate * torch.tanh(drive),)
    if isinstance(layer, FrozenLSTM):
        pre = []
        for gate in range(4):
            rho, gamma = (s.value[gate % len(s.value)] for s in (layer.radius, layer.gamma))
            wr = layer.reservoir.recurrent.chunk(4)[gate]
            wi = layer.reservoir.input.chunk(4)[gate]
            pre.append(rho * (wr @ h) + gamma * (wi @ x))
        i, f, g, o = pre
        c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
    weight, both = torch.cat([layer.weight_ih, layer.weight_hh], 1), torch.cat([x, h])
    pre = []
    for gate, block in enumerate(weight.chunk(4)):
        z = block @ both
        z = (z - z.mean()) / (z.var(correction=0) + 1e-5).sqrt()
        pre.append(layer.gain[gate] * z + layer.bias[gate])
    i, f, g, o = pre
    c = (torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)).clamp(-10, 10)
    return torch.sigmoid(o) * c, c


def naive(layer, sentence, reverse=False):
    """States of one sentence, ``(length, D) -> (length, H)``, and the last state."""
    state = (torch.zeros(HIDDEN, dtype=torch.float64),) * layer.state_size
    states = []
    for x in reversed(sentence) if reverse else sentence:
        state = naive_step(layer, x, state)
        states.append(state[0])
    return torch.stack(states[::-1] if reverse else states), state


def batch():
    """Inputs ``(T, B, D)``, zero where padded in front, and the mask ``(T, B, 1)``."""
    inputs = torch.zeros(max(LENGTHS), len(LENGTHS), INPUT, dtype=torch.float64)
    padding = torch.ones(max(LENGTHS), len(LENGTHS), 1, dtype=torch.bool)
    generator = torch.Generator().manual_seed(1)
    for row, length in enumerate(LENGTHS):
        drawn = torch.randn(length, INPUT, generator=generator, dtype=torch.float64)
        inputs[-length:, row], padding[-length:, row] = drawn, False
    return inputs, padding


@each_layer
@pytest.mark.parametrize("reverse", [False, True])
def test_every_sentence_of_a_padded_batch_follows_the_equations(layer, reverse):
    inputs, padding = batch()
    states, last = layer(inputs, padding=padding, reverse=reverse)
    assert states[padding.squeeze(-1)].abs().max() == 0
    for row, length in enumerate(LENGTHS):
        expected, expected_last = naive(layer, inputs[-length:, row], reverse)
        torch.testing.assert_close(states[-length:, row], expected, rtol=1e-12, atol=1e-12)
        # Backwards, padding comes last, and the state there is zero.
        ends_in_padding = reverse and padding[0, row].item()
        for part, expected_part in zip(last, expected_last, strict=True):
            expected_part = torch.zeros_like(part[row]) if ends_in_padding else expected_part
            torch.testing.assert_close(part[row], expected_part, rtol=1e-12, atol=1e-12)


@each_layer
def test_backwards_is_forwards_on_the_reversed_sentence_reversed(layer):
    sentence = batch()[0][:, :1]
    backwards, last = layer(sentence, reverse=True)
    forwards, also_last = layer(sentence.flip(0))
    torch.testing.assert_close(backwards, forwards.flip(0), rtol=0, atol=1e-15)
    for part, other in zip(last, also_last, strict=True):
        torch.testing.assert_close(part, other, rtol=0, atol=1e-15)


@each_layer
def test_two_halves_are_the_whole(layer):
    inputs = batch()[0]
    whole, last = layer(inputs)
    first, between = layer(inputs[:2])
    second, also_last = layer(inputs[2:], between)
    torch.testing.assert_close(torch.cat([first, second]), whole, rtol=0, atol=1e-14)
    torch.testing.assert_close(also_last[-1], last[-1], rtol=0, atol=1e-14)


@each_layer
def test_steps_that_get_part_of_their_input_late_equal_the_sequence(layer):
    inputs = batch()[0]
    whole, _ = layer(inputs)
    step, state = layer.steps(inputs[..., :2]), layer.start(inputs)
    for position in range(len(inputs)):
        state = step(position, inputs[position, :, 2:], state)
        torch.testing.assert_close(state[0], whole[position], rtol=1e-12, atol=1e-12)


@each_layer
@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_equal_finite_differences(layer, reverse):
    inputs, padding = batch()
    generator = torch.Generator().manual_seed(3)
    start = [
        torch.randn(len(LENGTHS), HIDDEN, generator=generator, dtype=torch.float64)
        for _ in range(layer.state_size)
    ]
    parameters = list(layer.parameters())
    variables = [inputs.clone().requires_grad_(), *(s.requires_grad_() for s in start), *parameters]

    def run(x, *rest):
        real = x.masked_fill(padding, 0)
        states, last = layer(real, tuple(rest[: layer.state_size]), reverse=reverse)
        return states, *last

    assert parameters
    assert torch.autograd.gradcheck(run, variables, fast_mode=True)


@pytest.mark.parametrize("radius", [0.1, 0.9, 2.0, -1.3])
def test_the_largest_eigenvalue_of_the_effective_matrix_is_the_radius(radius):
    for gates in (1, 4):
        frozen = reservoir(gates, units=150).double()
        for matrix in fold(Scale(radius).double().value, frozen.recurrent).chunk(gates):
            eigenvalues = np.linalg.eigvals(matrix.detach().numpy())
            assert np.abs(eigenvalues).max() == pytest.approx(abs(radius), abs=1e-5)


def two_runs(layer, steps, distance, drive=0.0):
    """How far two states that start apart are from each other after each step."""
    generator = torch.Generator().manual_seed(4)
    hidden = torch.randn(2, layer.hidden_size, generator=generator, dtype=torch.float64) * distance
    inputs = torch.full((steps, 2, INPUT), drive, dtype=torch.float64)
    states, _ = layer(inputs, (hidden,))
    apart = torch.cat([hidden.unsqueeze(0), states]).detach()
    return apart[:, 0] - apart[:, 1]


@pytest.mark.parametrize(("radius", "forgets"), [(0.9, True), (1.5, False), (2.0, False)])
def test_a_radius_below_one_forgets_where_it_started_and_a_large_one_does_not(radius, forgets):
    apart = two_runs(echo_state(radius, units=128), 300, 0.5).norm(dim=-1)
    ratio = (apart[-1] / apart[0]).item()
    assert ratio < 1e-10 if forgets else ratio > 0.1


def test_two_states_come_apart_no_faster_than_the_norm_allows():
    layer = echo_state(0.9, units=64)
    apart = two_runs(layer, 20, 1.0, drive=0.3).norm(dim=-1)
    growth = 0.9 * torch.linalg.matrix_norm(layer.reservoir.recurrent, 2)
    bound = apart[0] * growth ** torch.arange(21)
    assert (apart <= bound * (1 + 1e-12)).all()


def test_small_states_follow_the_powers_of_the_matrix():
    layer = echo_state(0.9, units=64)
    apart = two_runs(layer, 20, 1e-6)
    power = torch.matrix_power(layer.radius.value * layer.reservoir.recurrent, 20)
    torch.testing.assert_close(apart[-1], power @ apart[0], rtol=1e-9, atol=1e-17)


def test_with_radius_zero_a_state_depends_on_its_own_token_alone():
    inputs = batch()[0]
    states, _ = echo_state(radius=0.0)(inputs)
    torch.testing.assert_close(echo_state(radius=0.0)(inputs.flip(0))[0].flip(0), states)


# In float32, PyTorch's LSTM runs on another kernel than in float64, one that keeps more.
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("make", [echo_state, frozen_lstm, lambda: frozen_lstm(4)])
def test_the_backward_pass_keeps_inputs_and_states_only(make, dtype):
    layer = make().to(dtype)
    inputs = torch.randn(50, 8, INPUT, dtype=dtype)
    kept = {}

    def note(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        states, _ = layer(inputs)
    for buffer in layer.reservoir.buffers():
        kept.pop(buffer.untyped_storage().data_ptr(), None)
    # Beside them the scales and the start.
    factors = sum(scale.value.numel() for scale in (layer.radius, layer.gamma))
    small = dtype.itemsize * (factors + layer.state_size * 8 * HIDDEN)
    assert sum(kept.values()) <= inputs.nbytes + states.untyped_storage().nbytes() + small


@pytest.mark.parametrize("make", [echo_state, frozen_lstm])
def test_autocast_runs_forward_and_back_in_its_type(make):
    layer = make()
    single = copy.deepcopy(layer).float()
    inputs, _ = batch()
    found = []
    for run, x, low in ((layer, inputs, False), (single, inputs.float(), True)):
        x = x.clone().requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=low):
            states, _ = run(x)
        assert states.dtype == (torch.bfloat16 if low else torch.float64)
        states.double().sum().backward()
        found.append([x.grad, *(parameter.grad for parameter in run.parameters())])
    for expected, value in zip(*found, strict=True):
        assert value.dtype == torch.float32
        torch.testing.assert_close(value.double(), expected, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("make", [echo_state, frozen_lstm])
def test_gradients_of_scales_may_be_larger_than_float16_can_hold_under_autocast(make):
    """As with a loss scale; they are the largest sums of the model."""
    layer, inputs, found = make().float(), torch.ones(20, 400, INPUT), []
    with torch.no_grad():
        layer.gamma.value.fill_(0.3)
    for low in (False, True):
        layer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16, enabled=low):
            states, _ = layer(inputs)
        upstream = 256 * torch.sign(states.detach())
        (states * upstream).float().sum().backward()
        found.append([parameter.grad.clone() for parameter in layer.parameters()])
    for exact, value in zip(*found, strict=True):
        torch.testing.assert_close(value, exact, rtol=0.02, atol=0)
    assert max(value.abs().max() for value in found[1]) > torch.finfo(torch.float16).max


@pytest.mark.parametrize("make", [echo_state, frozen_lstm])
def test_without_anything_to_train_no_graph_is_built(make):
    layer = make().requires_grad_(False)
    states, last = layer(batch()[0])
    assert not states.requires_grad
    assert not any(part.requires_grad for part in last)


def test_scales_that_are_fixed_are_neither_trained_nor_saved():
    scale = Scale(0.9, learned=False)
    assert list(scale.parameters()) == []
    assert list(scale.state_dict()) == []


@pytest.mark.parametrize("sign", [1, -1])
def test_the_cell_of_a_trained_layer_is_capped(sign):
    layer = layer_norm_lstm()
    layer.bias.data[:3] = 50.0
    layer.bias.data[2] *= sign
    _, (_, cell) = layer(torch.randn(30, 2, INPUT, dtype=torch.float64))
    assert (sign * cell).max() == 10


@each_layer
@pytest.mark.parametrize("training", [True, False])
def test_single_precision_gives_states_and_gradients_up_to_rounding(layer, training):
    # In float32, PyTorch's LSTM runs on another kernel than in float64.
    inputs, padding = batch()
    single = copy.deepcopy(layer).float().train(training)
    found = []
    for run, x in ((layer, inputs), (single, inputs.float())):
        x = x.clone().requires_grad_()
        states, last = run(x, padding=padding, reverse=True)
        weights = torch.arange(1.0, 1 + states.numel()).view_as(states) / states.numel()
        ((states * weights).sum() + last[-1].sum()).backward()
        gradients = [parameter.grad for parameter in run.parameters()]
        found.append([states, x.grad.masked_fill(padding, 0), *gradients])
        run.zero_grad()
    for expected, value in zip(*found, strict=True):
        torch.testing.assert_close(value.double(), expected, rtol=1e-4, atol=1e-5)


def gradients(layer, inputs, weights, steps):
    """Of inputs and scales, from the sequence or, with ``steps``, from the equations."""
    layer.zero_grad()
    x = inputs.clone().to(layer.radius.value.dtype).requires_grad_()
    if steps:
        state, states = (torch.zeros(HIDDEN, dtype=x.dtype),) * layer.state_size, []
        for one in x:
            state = naive_step(layer, one, state)
            states.append(state[0])
        states = torch.stack(states)
    else:
        states = layer(x.unsqueeze(1))[0][:, 0]
    (states * weights.to(x.dtype)).sum().backward()
    return [x.grad.double(), *(parameter.grad.double() for parameter in layer.parameters())]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "make",
    [
        lambda: echo_state(gamma=3.0),
        lambda: echo_state(gamma=3.0, leak_rate=0.3),
        lambda: echo_state(gamma=3.0, leak_rate=0.05),
        frozen_lstm,
    ],
    ids=["echo state", "leak 0.3", "leak 0.05", "frozen LSTM"],
)
def test_half_precision_costs_little_more_than_it_costs_the_equations(make, dtype):
    """Gradients against float64 with the same rounded weights, saturated units included."""
    low = make().to(dtype)
    exact, errors = copy.deepcopy(low).double(), np.zeros((3, 2))
    for seed in range(6):
        generator = torch.Generator().manual_seed(seed)
        inputs = torch.randn(40, INPUT, generator=generator).to(dtype)
        weights = torch.randn(40, HIDDEN, generator=generator).to(dtype)
        expected = gradients(exact, inputs, weights, steps=True)
        for column, steps in enumerate((True, False)):
            found = gradients(low, inputs, weights, steps)
            errors[:, column] += [
                float((one - other).square().sum())
                for one, other in zip(found, expected, strict=True)
            ]
    of_equations, ours = np.sqrt(errors).T
    assert np.all(ours <= 3 * of_equations)


@pytest.mark.parametrize("make", [echo_state, frozen_lstm])
def test_the_gradient_of_a_scale_grows_over_a_long_sequence(make):
    """In bfloat16 a sum of like terms stands still after some hundred."""
    low = make().bfloat16()
    inputs, weights = torch.ones(2000, INPUT).bfloat16(), torch.ones(2000, HIDDEN)
    expected = gradients(copy.deepcopy(low).double(), inputs, weights, steps=False)
    found = gradients(low, inputs, weights, steps=False)
    for one, other in zip(found[1:], expected[1:], strict=True):
        torch.testing.assert_close(one, other, rtol=0.05, atol=0)


def test_a_frozen_lstm_computes_forwards_and_backwards_without_tf32(monkeypatch):
    """On a GPU, cuDNN would take TF32 forwards, and the recomputation float32."""
    seen, kernel, product = [], torch.lstm, torch.nn.functional.linear
    switches, name, full = tf32._switches()
    fast = {"ieee": "tf32", False: True}[full]

    def noted(function):
        def run(*arguments):
            seen.append((function.__name__, *(getattr(switch, name) for switch in switches)))
            return function(*arguments)

        return run

    monkeypatch.setattr(torch, "lstm", noted(kernel))
    before = [getattr(switch, name) for switch in switches]
    try:
        for switch in switches:
            setattr(switch, name, fast)
        inputs = torch.randn(3, 2, INPUT, dtype=torch.float64, requires_grad=True)
        states, _ = frozen_lstm()(inputs)
        with monkeypatch.context() as patch:
            patch.setattr(torch.nn.functional, "linear", noted(product))
            states.sum().backward()
        assert seen == [("lstm", full, full), ("linear", full, full), ("linear", full, full)]
        assert [getattr(switch, name) for switch in switches] == [fast, fast]
    finally:
        for switch, value in zip(switches, before, strict=True):
            setattr(switch, name, value)


OF_A_PROGRAM = (
    "torch.backends.cuda.matmul.allow_tf32 = True",
    "torch.set_float32_matmul_precision('medium')",
    "torch.backends.fp32_precision = 'tf32'",
    "torch.backends.cuda.matmul.fp32_precision = 'tf32'",
    "torch.backends.cudnn.rnn.fp32_precision = 'ieee'",
)


@pytest.mark.parametrize("setting", OF_A_PROGRAM)
def test_a_program_may_set_the_precision_in_any_way(setting):
    """PyTorch refuses to mix its old and its new settings. They are global: a process each."""
    if "fp32_precision" in setting and not hasattr(torch.backends.cudnn, "rnn"):
        pytest.skip(f"PyTorch {torch.__version__} has no {setting.split(' ')[0]}")
    reading = "torch.get_float32_matmul_precision()"
    if "fp32_precision" in setting:
        reading = "torch.backends.cuda.matmul.fp32_precision"
    program = f"""
import torch
from fairseq_outlayers.layers.recurrent.tf32 import without_tf32
{setting}
before = {reading}
with without_tf32():
    torch.nn.LSTM(2, 3)(torch.randn(4, 1, 2))
assert {reading} == before
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
