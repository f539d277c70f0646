"""What every output layer must do, whatever it computes; a new one is tested unasked."""

import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.initialization import Initializer, SelfInitialized
from fairseq_outlayers.options import OutputLayerConfig
from fairseq_outlayers.output_layers import OUTPUT_LAYERS, build_output_layer
from fairseq_outlayers.output_layers.computed import ComputedOutputLayer
from tests.conftest import make_dictionary, needed_options

H = 6
BATCH, STEPS = 3, 4
each_layer = pytest.mark.parametrize("name", OUTPUT_LAYERS)
pytestmark = pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])


def make_layer(name, bias):
    torch.manual_seed(0)
    dictionary = make_dictionary(15)
    embedding = nn.Embedding(len(dictionary), H, dictionary.pad())
    options = needed_options(name, dictionary)
    config = OutputLayerConfig(output_layer=name, no_class_bias=not bias, **options)
    layer = build_output_layer(config, embedding, H, dictionary).double()
    embedding.double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter)  # a bias of zeros would hide its absence
    return layer


@each_layer
def test_states_of_another_size_than_the_embeddings_are_scored_or_refused(name, bias):
    dictionary = make_dictionary(15)
    embedding = nn.Embedding(len(dictionary), H, dictionary.pad())
    options = needed_options(name, dictionary)
    config = OutputLayerConfig(output_layer=name, no_class_bias=not bias, **options)
    said = ""
    try:
        layer = build_output_layer(config, embedding, H + 2, dictionary)
    except UserError as error:
        said = str(error)
    if said:
        assert str(H) in said
        assert str(H + 2) in said
    else:
        assert layer(torch.ones(BATCH, H + 2)).shape == (BATCH, len(dictionary))


def random_states(*shape):
    return torch.randn(*shape, H, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@each_layer
def test_logits_are_the_dot_product_of_context_and_class_plus_bias(name, bias):
    layer = make_layer(name, bias)
    hidden = random_states(BATCH, STEPS)
    logits = layer(hidden)
    assert logits.shape == (BATCH, STEPS, layer.num_classes)
    context, classes = layer.project(hidden), layer.class_embeddings()
    for b in range(BATCH):
        for t in range(STEPS):
            for k in range(layer.num_classes):
                score = (context[b, t] * classes[k]).sum()
                score = score + (layer.class_bias()[k] if bias else 0)
                torch.testing.assert_close(logits[b, t, k], score, rtol=1e-12, atol=1e-12)


@each_layer
def test_candidate_logits_equal_the_same_columns_of_full_logits(name, bias):
    layer = make_layer(name, bias)
    candidates = torch.tensor([2, 7, 7, 0, 18])
    for hidden in (random_states(BATCH), random_states(BATCH, STEPS)):
        expected = layer(hidden)[..., candidates]
        torch.testing.assert_close(layer.logits(hidden, candidates), expected)


@each_layer
def test_candidates_of_each_sentence_select_in_its_own_row(name, bias):
    layer = make_layer(name, bias)
    candidates = torch.tensor([[2, 7], [0, 18], [5, 5]])
    for hidden in (random_states(BATCH), random_states(BATCH, STEPS), random_states(BATCH, 2, 2)):
        full = layer(hidden)
        expected = torch.stack([full[b][..., candidates[b]] for b in range(BATCH)])
        torch.testing.assert_close(layer.logits(hidden, candidates), expected)


@each_layer
def test_embeddings_and_biases_of_some_classes_are_rows_of_all(name, bias):
    layer = make_layer(name, bias)
    for ids in (
        torch.tensor([3]),
        torch.tensor([[1, 4], [18, 4]]),
        torch.tensor([], dtype=torch.long),
    ):
        torch.testing.assert_close(layer.class_embeddings(ids), layer.class_embeddings()[ids])
        assert layer.class_embeddings(ids).shape[:-1] == ids.shape
        if bias:
            torch.testing.assert_close(layer.class_bias(ids), layer.class_bias()[ids])
        else:
            assert layer.class_bias(ids) is None


@each_layer
def test_computed_layers_know_the_size_of_their_class_embeddings(name, bias):
    layer = make_layer(name, bias)
    if isinstance(layer, ComputedOutputLayer):
        assert layer.class_size == layer.class_embeddings().size(1)


@each_layer
@pytest.mark.parametrize("change", ["in place", "loaded"])
def test_scores_follow_input_embeddings_that_change_at_inference(name, bias, change):
    layer = make_layer(name, bias).eval()
    hidden, candidates = random_states(BATCH), torch.tensor([2, 7])
    with torch.no_grad():
        layer(hidden)
        if hasattr(layer, "embedding"):
            other = torch.randn_like(layer.embedding.weight)
            if change == "in place":
                layer.embedding.weight.copy_(other)
            else:
                layer.embedding.load_state_dict({"weight": other})
        found = layer(hidden)
        of_candidates = layer.logits(hidden, candidates)
    expected = layer(hidden)  # with gradients, so computed anew
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(of_candidates, expected[:, candidates], rtol=1e-12, atol=1e-12)


@each_layer
def test_scores_follow_every_parameter_of_the_layer_that_changes_at_inference(name, bias):
    layer, hidden = make_layer(name, bias).eval(), random_states(BATCH)
    for parameter_name, parameter in layer.named_parameters():
        with torch.no_grad():
            before = layer(hidden)
            parameter.copy_(torch.randn_like(parameter))
            found = layer(hidden)
        assert not found.equal(before), parameter_name
        expected = layer(hidden)  # with gradients, so computed anew
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@each_layer
def test_scores_under_autocast_do_not_change_those_without(name, bias):
    layer = make_layer(name, bias).float().eval()
    if hasattr(layer, "embedding"):
        layer.embedding.float()
    hidden, candidates = random_states(BATCH).float(), torch.tensor([[2], [7], [7]])
    with torch.no_grad():
        expected, few = layer(hidden), layer.logits(hidden, candidates)
        layer.train().eval()  # nothing is cached
        with torch.autocast("cpu", dtype=torch.bfloat16):
            low = layer(hidden)
        assert layer(hidden).equal(expected)
        assert layer.logits(hidden, candidates).equal(few)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert layer(hidden).equal(low)


@each_layer
def test_candidate_gradients_reach_the_candidates_alone(name, bias):
    layer = make_layer(name, bias)
    candidates = torch.tensor([2, 7])
    layer.logits(random_states(BATCH), candidates).sum().backward()
    others = [k for k in range(layer.num_classes) if k not in candidates]
    tables = dict(layer.named_parameters())
    if hasattr(layer, "embedding"):
        tables["embedding"] = layer.embedding.weight
    for table_name, table in tables.items():
        if table.dim() and table.size(0) == layer.num_classes:
            assert table.grad is not None, f"the scores do not depend on {table_name}"
            assert table.grad[others].abs().max() == 0, table_name
            assert table.grad[candidates].abs().min() > 0, table_name


@each_layer
def test_the_bias_is_the_only_thing_that_no_class_bias_takes_away(name, bias):
    names = {parameter for parameter, _ in make_layer(name, bias).named_parameters()}
    assert ("bias" in names) == bias


class Recorded(Initializer):
    """Which parameters a model's initialization reaches."""

    def __init__(self):
        self.filled = set()

    def fill(self, owner, name, parameter):
        self.filled.add(id(parameter))


@each_layer
def test_the_bias_and_submodules_are_initialized_like_the_rest_of_the_model(name, bias):
    """A layer's own parameters may keep their values; ``reset_parameters`` calls ``super()``."""
    layer, initializer = make_layer(name, bias), Recorded()
    layer.reset_parameters(initializer)
    itself = {
        id(parameter)
        for module in layer.modules()
        if isinstance(module, SelfInitialized)
        for parameter in module.parameters(recurse=False)
    }
    for parameter_name, parameter in layer.named_parameters():
        if parameter_name == "bias" or id(parameter) not in itself:
            assert id(parameter) in initializer.filled, parameter_name


@each_layer
def test_dropout_is_of_a_kind_that_retain_dropout_reaches(name, bias):
    modules = make_layer(name, bias).modules()
    assert not [m for m in modules if type(m) is nn.Dropout], "use layers.dropout.Dropout"


def test_an_unknown_name_is_refused_with_the_known_ones(bias):
    config = OutputLayerConfig(no_class_bias=not bias)
    config.output_layer = "adaptive"
    with pytest.raises(UserError, match=r"--output-layer adaptive.*linear.*tied"):
        build_output_layer(config, nn.Embedding(5, H), H, make_dictionary(1))
