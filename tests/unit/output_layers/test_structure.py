"""The structure-aware layers against their equations and the identities between them."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.options import OutputLayerConfig
from fairseq_outlayers.output_layers import (
    OUTPUT_LAYERS,
    BilinearOutputLayer,
    ContextStructureOutputLayer,
    DeepResidualOutputLayer,
    EmbeddingOutputLayer,
    JointOutputLayer,
    OutputStructureOutputLayer,
    build_output_layer,
)
from tests.conftest import Halve, make_dictionary, make_model, make_task

V, D, H = 19, 5, 5


def make_layer(name, d=D, hidden_size=H, seed=0, **options):
    torch.manual_seed(seed)
    dictionary = make_dictionary(V - 4)
    embedding = nn.Embedding(V, d).double()
    config = OutputLayerConfig(output_layer=name, **options)
    layer = build_output_layer(config, embedding, hidden_size, dictionary).double()
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5)
    return layer


def states(*shape, size=H):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*shape, size, dtype=torch.float64, generator=generator)


def as_rows(equation, layer, hidden):
    """``equation(e, h)`` for every class embedding e and state h, plus the bias of the class."""
    rows = [
        [equation(e, h) + b for e, b in zip(layer.embedding.weight, layer.bias, strict=True)]
        for h in hidden
    ]
    return torch.stack([torch.stack(row) for row in rows])


def test_bilinear_is_equation_6():
    layer = make_layer("bilinear", hidden_size=7)
    w = layer.projection.weight
    expected = as_rows(lambda e, h: e @ (w @ h), layer, states(4, size=7))
    torch.testing.assert_close(layer(states(4, size=7)), expected)


def test_output_structure_is_equation_7a():
    layer = make_layer("output_structure", hidden_size=7)
    u, b_u = layer.projection.weight, layer.projection.bias
    expected = as_rows(lambda e, h: torch.tanh(u @ e + b_u) @ h, layer, states(4, size=7))
    torch.testing.assert_close(layer(states(4, size=7)), expected)


def test_context_structure_is_equation_7b():
    layer = make_layer("context_structure", hidden_size=7)
    w = layer.projection.weight
    expected = as_rows(lambda e, h: e @ torch.tanh(w @ h), layer, states(4, size=7))
    torch.testing.assert_close(layer(states(4, size=7)), expected)


def test_joint_is_equation_14():
    layer = make_layer("joint", hidden_size=7, joint_dim=3)
    (u,), (v,) = layer.class_encoder.projections, layer.context_encoder.projections

    def equation(e, h):
        return torch.tanh(u.weight @ e + u.bias) @ torch.tanh(v.weight @ h + v.bias)

    expected = as_rows(equation, layer, states(4, size=7))
    torch.testing.assert_close(layer(states(4, size=7)), expected)


def test_stacked_joint_adds_consecutive_transformations():
    layer = make_layer("joint", joint_dim=3, joint_layers=3)

    def encode(encoder, x):
        first, second, third = encoder.projections
        x = torch.tanh(first(x))
        x = x + torch.tanh(second(x))
        return x + torch.tanh(third(x))

    expected = as_rows(
        lambda e, h: encode(layer.class_encoder, e) @ encode(layer.context_encoder, h),
        layer,
        states(4),
    )
    torch.testing.assert_close(layer(states(4)), expected)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("previous", [False, True])
def test_deep_residual_adds_the_embeddings_at_every_depth(previous, depth):
    layer = make_layer("deep_residual", deep_residual_layers=depth, deep_residual_previous=previous)
    layer.dropout = Halve()
    assert len(layer.projections) == depth

    def equation(e, h):
        below = e
        for projection in layer.projections:
            above = torch.tanh(projection.weight @ (below / 2) + projection.bias) + e
            below = above + below if previous else above
        return below @ h

    torch.testing.assert_close(layer(states(4)), as_rows(equation, layer, states(4)))


def test_joint_with_identity_maps_and_no_nonlinearity_is_tied_bit_for_bit():
    joint = make_layer("joint", joint_dim=D, joint_activation="none", joint_inner_bias="none")
    tied = make_layer("tied")
    for encoder in (joint.class_encoder, joint.context_encoder):
        nn.init.eye_(encoder.projections[0].weight)
    tied.embedding.weight.data.copy_(joint.embedding.weight)
    tied.bias.data.copy_(joint.bias)
    assert torch.equal(joint(states(4)), tied(states(4)))


def test_joint_with_small_maps_approaches_tied_with_an_error_of_second_order():
    joint = make_layer("joint", joint_dim=D, joint_inner_bias="none", no_class_bias=True)
    exact = states(4) @ joint.embedding.weight.t()
    errors = []
    for epsilon in (1e-2, 1e-3):
        for encoder in (joint.class_encoder, joint.context_encoder):
            nn.init.eye_(encoder.projections[0].weight).data.mul_(epsilon)
        errors.append((joint(states(4)) / epsilon**2 - exact).abs().max().item())
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.05)


def test_joint_without_the_nonlinearity_is_bilinear():
    joint = make_layer("joint", joint_dim=3, joint_activation="none", joint_inner_bias="none")
    bilinear = make_layer("bilinear")
    u = joint.class_encoder.projections[0].weight
    v = joint.context_encoder.projections[0].weight
    bilinear.projection.weight.data.copy_(u.t() @ v)
    bilinear.embedding.weight.data.copy_(joint.embedding.weight)
    bilinear.bias.data.copy_(joint.bias)
    torch.testing.assert_close(joint(states(4)), bilinear(states(4)))


def test_a_joint_score_is_bounded_by_the_size_of_the_joint_space():
    layer = make_layer("joint", joint_dim=3, no_class_bias=True)
    for parameter in layer.parameters():
        parameter.data.mul_(1e3)
    scores = layer(states(50))
    assert 2.9 < scores.abs().max().item() <= 3


@pytest.mark.parametrize(
    ("name", "options", "rank"),
    [("joint", {"joint_dim": 2}, 3), ("bilinear", {"d": 3, "hidden_size": 9}, 4)],
)
def test_the_rank_of_the_logits_is_bounded_by_the_smallest_space(name, options, rank):
    layer = make_layer(name, **options)
    logits = layer(states(50, size=options.get("hidden_size", H)))
    assert torch.linalg.matrix_rank(logits).item() == rank  # one of it is the bias


@pytest.mark.parametrize(
    ("joint_dim", "difference"), [(512, 525_312), (2048, 2_101_248), (4096, 4_202_496)]
)
def test_joint_has_as_many_parameters_more_than_tied_as_published(joint_dim, difference):
    task = make_task()
    sizes = {"embed_dim": 512, "hidden_size": 512}
    tied = make_model("luong_lstm", task, output_layer="tied", **sizes)
    joint = make_model("luong_lstm", task, output_layer="joint", joint_dim=joint_dim, **sizes)
    count = [sum(parameter.numel() for parameter in m.parameters()) for m in (tied, joint)]
    assert count[1] - count[0] == difference


@pytest.mark.parametrize(
    "name", [n for n, layer in OUTPUT_LAYERS.items() if issubclass(layer, EmbeddingOutputLayer)]
)
def test_the_gradient_of_the_embeddings_is_the_sum_of_both_uses(name):
    layer = make_layer(name)
    used = torch.tensor([3, 8])

    def loss(inputs, outputs):
        hidden = torch.nn.functional.embedding(used, inputs)  # a model of one table lookup
        layer._shared = (SimpleNamespace(weight=outputs),)
        return layer(hidden).log_softmax(-1).square().sum()

    table = layer.embedding.weight
    (shared,) = torch.autograd.grad(loss(table, table), table)
    copies = [table.detach().clone().requires_grad_() for _ in range(2)]
    apart = torch.autograd.grad(loss(*copies), copies)
    torch.testing.assert_close(shared, apart[0] + apart[1], rtol=1e-12, atol=1e-12)
    assert all(gradient.abs().max() > 0 for gradient in apart)


@pytest.mark.parametrize("choice", ["paper", "all", "none"])
def test_inner_biases_are_where_they_were_asked_for(choice):
    in_paper = {
        "bilinear": 0, "output_structure": 1, "context_structure": 0, "joint": 2, "deep_residual": 2
    }  # fmt: skip
    projections = {**in_paper, "bilinear": 1, "context_structure": 1}
    expected = {"paper": in_paper, "all": projections, "none": dict.fromkeys(in_paper, 0)}[choice]
    for name, number in expected.items():
        layer = make_layer(name, joint_inner_bias=choice, no_class_bias=True)
        found = [n for n, _ in layer.named_parameters() if n.endswith("bias")]
        assert len(found) == number, name


@pytest.mark.parametrize("activation", ["relu", "sigmoid"])
def test_another_nonlinearity_takes_the_place_of_tanh(activation):
    function = getattr(torch, activation)
    layer = make_layer("context_structure", joint_activation=activation)
    expected = function(states(4) @ layer.projection.weight.t()) @ layer.embedding.weight.t()
    torch.testing.assert_close(layer(states(4)), expected + layer.bias)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("bilinear", {"joint_activation": "relu"}, "--joint-activation relu has no effect with"),
        ("joint", {"joint_dim": 0}, "--joint-dim 0"),
        ("joint", {"joint_layers": 0}, "--joint-layers 0"),
        ("deep_residual", {"deep_residual_layers": 0}, "--deep-residual-layers 0"),
        ("deep_residual", {"hidden_size": 7}, "5 dimensions and the states 7"),
    ],
)
def test_sizes_without_meaning_are_refused(name, options, said):
    with pytest.raises(UserError, match=said):
        make_layer(name, **options)


def test_layers_start_at_a_scale_that_suits_their_width():
    """Of weights, one over the root of their inputs: products have the variance of a factor."""
    torch.manual_seed(0)
    embedding, width = nn.Embedding(V, 200), 300
    built = {
        name: build_output_layer(
            OutputLayerConfig(output_layer=name),
            embedding,
            width,
            make_dictionary(V - 4),
        )
        for name in ("linear", "bilinear", "output_structure", "context_structure", "joint")
    }
    (classes,), (contexts,) = (
        getattr(built["joint"], f"{side}_encoder").projections for side in ("class", "context")
    )
    for weight, inputs in (
        (built["linear"].weight, 300), (built["bilinear"].projection.weight, 300),
        (built["output_structure"].projection.weight, 200),
        (built["context_structure"].projection.weight, 300),
        (classes.weight, 200), (contexts.weight, 300),
    ):  # fmt: skip
        assert weight.std().item() == pytest.approx(inputs**-0.5, rel=0.05)
    for projection in (built["output_structure"].projection, classes, contexts):
        assert projection.bias.eq(0).all()


@pytest.mark.parametrize("layer", [JointOutputLayer, BilinearOutputLayer, DeepResidualOutputLayer])
def test_sizes_in_place_of_projections_are_refused_with_the_way_to_use_them(layer):
    embedding = torch.nn.Embedding(5, 4)
    sizes = (8,) if layer is BilinearOutputLayer else (8, 8)
    with pytest.raises(TypeError, match=rf"8 must be a module; .* {layer.__name__}\.build\("):
        layer(embedding, *sizes)
    built = layer.build(layer.Config(), embedding, 4, None)
    assert built.logits(torch.zeros(2, 4)).shape == (2, 5)


@pytest.mark.parametrize("kind", [ContextStructureOutputLayer, OutputStructureOutputLayer])
def test_a_layer_made_of_its_projection_has_the_nonlinearity_of_its_equation(kind):
    layer = kind(nn.Embedding(V, D), nn.Linear(H, D, bias=False))
    assert layer.nonlinearity is torch.tanh
    for given in (torch.relu, nn.Sequential()):  # of length 0, PyTorch's identity
        assert kind(nn.Embedding(V, D), nn.Linear(H, D), given).nonlinearity is given


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (JointOutputLayer, {"joint_layers": 0}),
        (JointOutputLayer, {"joint_dim": 0}),
        (DeepResidualOutputLayer, {"deep_residual_layers": 0}),
        (BilinearOutputLayer, {"joint_inner_bias": False}),
    ],
)
def test_options_without_meaning_are_refused_without_fairseq_too(kind, options):
    with pytest.raises(UserError, match=f"--{next(iter(options)).replace('_', '-')}"):
        kind.build(kind.Config(**options), nn.Embedding(V, D), H, None)
