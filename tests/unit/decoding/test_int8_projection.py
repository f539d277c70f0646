"""--int8-projection: near the exact scores, the same in every batch, and only where it acts."""

from types import SimpleNamespace

import pytest
import torch

from fairseq_outlayers.decoding.int8_projection import Int8Projection, Int8Projections
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import TRANSLATION_ARCHITECTURES, make_batch, make_model
from tests.unit.decoding.test_search import LENGTHS, V, models_of


def rounding_error(context, embeddings):
    """The most by which rounding to 7 and 8 bits moves a dot product, ``(N, V)``, in float64.

    A state is off by a step at most (half of one, and the end of the range is up to half a step
    further), a class embedding by half of one.
    """
    context, embeddings = context.double().abs(), embeddings.double().abs()
    step = context.amax(1, keepdim=True) * 2 / 127
    half = embeddings.amax(1, keepdim=True) / 127 / 2
    of_states = step * embeddings.sum(1)
    of_classes = context.sum(1, keepdim=True) * half.t()
    return of_states + of_classes + step * half.t() * context.size(1)


@pytest.mark.parametrize("name", OUTPUT_LAYERS)
@torch.no_grad()
def test_scores_differ_by_what_is_rounded_at_most(name, task):
    model = make_model("luong_lstm", task, output_layer=name)
    layer = model.float().eval().decoder.output_projection
    for table in layer.parameters():
        table.mul_(3)
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(7, 8, generator=generator) * torch.logspace(-3, 3, 7).unsqueeze(1)
    exact = layer(hidden).double()
    found = Int8Projection(layer)(hidden)
    bound = rounding_error(layer.project(hidden), layer.class_embeddings())
    assert ((found - exact).abs() <= bound + 1e-5).all()
    assert not torch.equal(found.double(), exact)


@torch.no_grad()
def test_products_equal_those_of_rounded_numbers_in_float64():
    generator = torch.Generator().manual_seed(1)
    layer = torch.nn.Linear(16, 40, bias=False)
    layer.weight.copy_(torch.randint(-127, 128, (40, 16), generator=generator) / 64)
    layer.weight[:, 0] = 127 / 64  # so that a step of every class is 1/64: nothing is rounded
    states = torch.randint(-63, 63, (5, 16), generator=generator).double()
    states[:, 0] = 63.5  # whose step is 1: the range of -63.5 to 63.5 has 127 of them
    expected = (states + 0.5).floor() @ layer.weight.double().t()
    found = Int8Projection(layer)(states.float())
    # The one state between two steps is rounded to either.
    between = layer.weight.double().abs()[:, 0]
    assert ((found - expected).abs() <= between + 1e-3).all()


@torch.no_grad()
def test_a_rows_scores_are_the_same_bit_for_bit_in_any_batch():
    generator = torch.Generator().manual_seed(1)
    projection = Int8Projection(torch.nn.Linear(24, 90))
    hidden = torch.randn(9, 24, generator=generator) * torch.logspace(-2, 2, 9).unsqueeze(1)
    together = projection(hidden)
    for row, scores in zip(hidden, together, strict=True):
        assert torch.equal(projection(row.unsqueeze(0))[0], scores)
    assert torch.equal(projection(hidden.unsqueeze(1))[:, 0], together)


def test_a_state_of_zeros_scores_the_bias():
    layer = torch.nn.Linear(8, 20)
    found = Int8Projection(layer)(torch.zeros(2, 8))
    torch.testing.assert_close(found, layer.bias.detach().expand(2, -1), rtol=0, atol=1e-30)


@pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)
@pytest.mark.parametrize("number", [1, 2])
def test_a_search_uses_it_and_puts_the_layer_back(arch, number, make_task, monkeypatch):
    task = make_task(int8_projection=True)
    models, batch = models_of(task, number, arch), make_batch(task, LENGTHS)
    layers, calls = [model.decoder.output_projection for model in models], []
    forward = Int8Projection.forward
    monkeypatch.setattr(
        Int8Projection, "forward", lambda self, h: calls.append(self) or forward(self, h)
    )
    generator = task.build_generator(models, SimpleNamespace(beam=3, max_len_b=6))
    hypotheses = task.inference_step(generator, models, batch)
    assert all(hypotheses)
    assert len(set(map(id, calls))) == number
    assert [model.decoder.output_projection for model in models] == layers


def test_parameters_that_have_changed_are_rounded_again(task):
    model, projections = make_model("luong_lstm", task).eval(), Int8Projections()
    with projections.of(model) as first:
        pass
    with projections.of(model) as again:
        assert first is again
    with torch.no_grad():
        model.decoder.output_projection.bias.add_(1)
    with projections.of(model) as second:
        assert second is not first
        torch.testing.assert_close(second.bias, first.bias + 1)


def test_validation_in_training_rounds_the_parameters_of_now(make_task, monkeypatch):
    """fairseq's Adam changes them through .data, which PyTorch does not count."""
    task = make_task(int8_projection=True)
    (model,), batch = models_of(task, 1, "luong_lstm"), make_batch(task, LENGTHS)
    options = SimpleNamespace(beam=3, max_len_b=6)
    task.sequence_generator = task.build_generator([model], options)
    task.inference_step(task.sequence_generator, [model], batch)
    for parameter in model.parameters():
        parameter.data.mul_(-1.5)
    task.begin_valid_epoch(1, model)
    found = task.inference_step(task.sequence_generator, [model], batch)
    expected = task.inference_step(task.build_generator([model], options), [model], batch)
    for one, other in zip(found, expected, strict=True):
        assert one[0]["tokens"].tolist() == other[0]["tokens"].tolist()
        assert one[0]["score"] == other[0]["score"]


@pytest.mark.parametrize("options", [{"candidate_frequent": 9}])
def test_candidate_lists_beside_it_are_refused(options, make_task):
    task = make_task(int8_projection=True, **options)
    with pytest.raises(UserError, match="--int8-projection needs the whole vocabulary"):
        task.build_generator(models_of(task), SimpleNamespace())


def test_a_layer_on_a_device_is_refused():
    with pytest.raises(UserError, match="--int8-projection is for decoding on a CPU"):
        Int8Projection(torch.nn.Linear(4, V, device="meta"))
