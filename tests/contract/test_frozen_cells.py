"""Every kind of frozen recurrent layer, in float64."""

import pytest
import torch
from fairseq.models import MODEL_DATACLASS_REGISTRY

from fairseq_outlayers.analysis.echo_gains import frozen_models
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models.esnmt import EchoStateModel
from fairseq_outlayers.reservoirs.options import ECHO_STARTS, make_reservoir
from fairseq_outlayers.reservoirs.random_stream import uniform
from fairseq_outlayers.reservoirs.regenerated import VERSION

INPUT, HIDDEN, LENGTHS = 3, 6, (5, 1, 3)
each_cell = pytest.mark.parametrize("arch", frozen_models())


def make(arch, **options):
    """A layer with scales that differ from 1, so that each of them counts."""
    model = frozen_models()[arch]
    cfg = MODEL_DATACLASS_REGISTRY[arch](hidden_size=HIDDEN, **options)
    layer = model.frozen_layer(cfg, make_reservoir(cfg, model.kind, "layer", INPUT)).double()
    for scale in (layer.radius, layer.gamma):
        scale.value.data.mul_(0.7)
    return layer


def batch():
    """Inputs ``(T, B, D)``, zero where padded in front, and the mask ``(T, B, 1)``."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(max(LENGTHS), len(LENGTHS), INPUT, generator=generator).double()
    padding = torch.ones(max(LENGTHS), len(LENGTHS), 1, dtype=torch.bool)
    for row, length in enumerate(LENGTHS):
        padding[-length:, row] = False
    return inputs.masked_fill(padding, 0.0), padding


def step_by_step(layer, inputs, reverse=False):
    """States of one sentence ``(T, D)``: each step takes all features, and the rest apart."""
    whole = layer.steps(inputs[:, None])
    part = layer.steps(inputs[:, None, :-1])
    state, states = layer.start(inputs[:, None]), []
    positions = range(len(inputs))
    for position in reversed(positions) if reverse else positions:
        with_rest = part(position, inputs[position, None, -1:], state)
        state = whole(position, None, state)
        torch.testing.assert_close(with_rest, state, rtol=1e-12, atol=1e-14)
        states.append(state[0][0])
    return torch.stack(states[::-1] if reverse else states)


@each_cell
@pytest.mark.parametrize("reverse", [False, True])
def test_a_padded_batch_has_the_states_of_its_sentences_step_by_step(arch, reverse):
    layer, (inputs, padding) = make(arch), batch()
    states, _ = layer(inputs, padding=padding, reverse=reverse)
    assert states.abs().max() > 0.01
    assert states.masked_select(padding).abs().max() == 0
    for row, length in enumerate(LENGTHS):
        expected = step_by_step(layer, inputs[-length:, row], reverse)
        torch.testing.assert_close(states[-length:, row], expected, rtol=1e-12, atol=1e-14)


@each_cell
def test_the_state_is_all_that_a_later_part_needs(arch):
    layer, inputs = make(arch), batch()[0][:, :1]
    whole, last = layer(inputs)
    first, between = layer(inputs[:2])
    second, also_last = layer(inputs[2:], between)
    torch.testing.assert_close(torch.cat([first, second]), whole, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(also_last, last, rtol=1e-12, atol=1e-14)


@each_cell
@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_of_inputs_state_and_scales_are_those_of_differences(arch, reverse):
    layer, inputs = make(arch), batch()[0][:3, :2].clone().requires_grad_()
    start = tuple(torch.full((2, HIDDEN), 0.1, dtype=torch.float64, requires_grad=True)
                  for _ in range(layer.state_size))  # fmt: skip
    scales = [layer.radius.value, layer.gamma.value]

    def states(inputs, *rest):
        return layer(inputs, rest[: len(start)], reverse=reverse)[0]

    assert torch.autograd.gradcheck(states, (inputs, *start, *scales), rtol=1e-6, atol=1e-8)


@each_cell
def test_only_the_scales_are_trained_and_the_matrices_come_from_the_seed(arch):
    layer, other = make(arch), make(arch, reservoir_seed=2)
    assert dict(layer.named_parameters()).keys() == {"radius.value", "gamma.value"}
    assert layer.state_dict().keys() == {"radius.value", "gamma.value", f"reservoir.{VERSION}"}
    gates = layer.reservoir.recurrent.chunk(layer.gates)
    assert layer.reservoir.recurrent.shape == (layer.gates * HIDDEN, HIDDEN)
    assert len({tuple(gate.flatten().tolist()) for gate in gates}) == layer.gates
    assert torch.equal(layer.reservoir.input, make(arch).reservoir.input)
    assert not torch.equal(layer.reservoir.input, other.reservoir.input)


@each_cell
def test_every_start_is_the_layers_and_another_is_refused(arch):
    kind = frozen_models()[arch].kind
    for name in ECHO_STARTS:
        layer = make(arch, echo_start=name)
        expected = kind.starts[name]
        found = (layer.gamma.value.unique(), layer.radius.value.unique())
        wanted = (0.7 * expected.gamma, 0.7 * expected.radius)
        assert [value.item() for value in found] == pytest.approx(wanted, rel=1e-6)
    with pytest.raises(UserError, match=f"--echo-start unit: {kind.__name__}.starts has output_"):
        make(arch, echo_start="unit")


@each_cell
def test_a_subclass_may_change_the_cell_and_its_random_weights(arch):
    model, drawn = frozen_models()[arch], []

    class Layer(model.kind):
        @staticmethod
        def draw(seed, name, shape, sparsity):
            drawn.append(name)
            return uniform(seed + 1, name, shape, sparsity)

    model_of = type("Own", (model,), {"kind": Layer})
    cfg = MODEL_DATACLASS_REGISTRY[arch](hidden_size=HIDDEN)
    layer = model_of.frozen_layer(cfg, make_reservoir(cfg, Layer, "layer", INPUT))
    assert type(layer) is Layer
    assert model_of.gates == model.kind.gates
    assert drawn == [f"layer.{k}.{g}" for k in ("recurrent", "input") for g in range(layer.gates)]
    other = make(arch, reservoir_seed=2).reservoir
    assert torch.equal(layer.reservoir.input.double(), other.input)


def test_a_model_without_a_kind_of_layer_is_refused():
    with pytest.raises(TypeError, match="Own has no kind: set it to a class of FrozenLayer"):
        type("Own", (EchoStateModel,), {})
