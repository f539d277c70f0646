"""A class matrix gives the scores of the layer that it was computed from."""

from pathlib import Path

import pytest
import torch

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.export.baking import ClassMatrix, absorb_bias, bake
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import INSTALLED_PARTS, make_model, make_task

ROOT = Path(__file__).parents[3]


def layer_of(name, **options):
    model = make_model("luong_lstm", make_task(), output_layer=name, **options)
    for parameter in model.decoder.output_projection.parameters():
        parameter.data.normal_()
    return model.decoder.output_projection.eval()


@torch.no_grad()
def is_affine(name):
    project = layer_of(name).project
    one, other = torch.randn(2, 5, 8, dtype=torch.float64)
    change = project(one + other) - project(other)
    return torch.allclose(change, project(one) - project(torch.zeros_like(one)))


NONLINEAR = {name for name in OUTPUT_LAYERS if not is_affine(name)}


def test_the_nonlinear_layers_are_those_of_the_page():
    page = (ROOT / "docs" / "choosing_a_layer.md").read_text()
    rows = [[cell.strip(" `") for cell in line.split("|")] for line in page.splitlines()]
    ours = set(OUTPUT_LAYERS) - INSTALLED_PARTS
    export = {row[1]: row[5] for row in rows if len(row) == 8 and row[1] in ours}
    assert export == {name: "no" if name in NONLINEAR else "yes" for name in ours}


@pytest.mark.parametrize("no_class_bias", [False, True])
@pytest.mark.parametrize("name", sorted(set(OUTPUT_LAYERS) - NONLINEAR))
@torch.no_grad()
def test_affine_layers_are_class_matrices(name, no_class_bias):
    """A tied layer without biases has no parameter of its own."""
    layer = layer_of(name, no_class_bias=no_class_bias)
    hidden = 3 * torch.randn(5, 8, dtype=torch.float64)
    baked = bake(layer, 8)
    bias = torch.zeros(()) if baked.bias is None else baked.bias
    torch.testing.assert_close(hidden @ baked.weight.t() + bias, layer(hidden))


@pytest.mark.parametrize("name", sorted(NONLINEAR))
def test_nonlinear_maps_of_contexts_are_refused(name):
    with pytest.raises(UserError, match="maps contexts nonlinearly"):
        bake(layer_of(name), 8)


@torch.no_grad()
def test_a_joint_layer_without_nonlinearity_is_affine_biases_of_the_map_included():
    layer = layer_of("joint", joint_activation="none", joint_inner_bias="all", no_class_bias=True)
    hidden = torch.randn(5, 8, dtype=torch.float64)
    baked = bake(layer, 8)
    torch.testing.assert_close(hidden @ baked.weight.t() + baked.bias, layer(hidden))


def test_no_bias_stays_no_bias():
    assert bake(layer_of("linear", no_class_bias=True), 8).bias is None


@pytest.mark.parametrize("projected", [None, 6, 9])
@pytest.mark.parametrize("centre", [0, -6, 6])
def test_a_bias_moves_into_the_matrix_behind_a_layer_norm(projected, centre):
    torch.manual_seed(1)
    gain, offset = torch.rand(6, dtype=torch.float64) + 0.5, torch.randn(6, dtype=torch.float64)
    # The worst case: without a move of the offset, the functional would be 0.
    offset[0] -= gain[0] * ((offset / gain).sum() - centre)
    projection = None if projected is None else torch.randn(projected, 6, dtype=torch.float64)
    size = projected or 6
    classes = ClassMatrix(
        torch.randn(11, size, dtype=torch.float64), torch.randn(11, dtype=torch.float64)
    )
    weight, moved = absorb_bias(classes, gain, offset, projection)
    inputs = torch.randn(7, 6, dtype=torch.float64)

    def features(offset):
        normed = torch.nn.functional.layer_norm(inputs, (6,), gain, offset)
        return normed if projection is None else normed @ projection.t()

    expected = features(offset) @ classes.weight.t() + classes.bias
    torch.testing.assert_close(features(moved) @ weight.t(), expected, rtol=1e-10, atol=1e-10)


def test_what_cannot_carry_a_bias_is_refused():
    classes = ClassMatrix(torch.randn(11, 4).double(), torch.randn(11).double())
    gain, offset = torch.ones(6), torch.zeros(6)
    with pytest.raises(UserError, match="fewer dimensions than the last layer norm"):
        absorb_bias(classes, gain, offset, torch.randn(4, 6))
    gain[2] = 0
    with pytest.raises(UserError, match="ignores a dimension"):
        absorb_bias(ClassMatrix(torch.randn(11, 6).double(), classes.bias), gain, offset)
