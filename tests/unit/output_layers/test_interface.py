"""What an output layer may not do, because losses and searches would not see it."""

import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.options import OutputLayerConfig
from fairseq_outlayers.output_layers import OUTPUT_LAYERS, OutputLayer, build_output_layer
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.output_layers.tied import TiedOutputLayer
from tests.conftest import make_dictionary


@pytest.mark.parametrize("method", ["logits", "forward"])
def test_scores_that_are_no_dot_products_are_refused_where_they_are_written(method):
    """Sampled losses and candidate lists never call ``logits``: they would train another layer."""
    scores = {method: lambda self, hidden, candidates=None: hidden.log_softmax(-1)}
    with pytest.raises(TypeError, match=rf"Mixture\.{method}.*project, class_embeddings"):
        type("Mixture", (OutputLayer,), scores)


def all_rows(self, ids=None):
    return self.rows("weight", None)


def all_biases(self, ids=None):
    return self.rows("bias", None)


def wider(self, hidden):
    return nn.functional.pad(hidden, (0, 1))


@pytest.mark.parametrize(
    ("method", "replacement", "message"),
    [
        (
            "class_embeddings",
            all_rows,
            r"class_embeddings\(ids\) returns \(19, 6\) for ids \(1",
        ),
        ("class_bias", all_biases, r"class_bias\(ids\) returns \(19,\) for ids \(1, 2\)"),
        ("project", wider, r"project returns \(1, 2, 7\) for states \(1, 2, 6\).* 6 dim"),
    ],
)
def test_a_layer_that_returns_other_shapes_is_refused_when_it_is_built(
    method, replacement, message, monkeypatch
):
    """Sampled losses would take the first rows of a table for the rows that they asked for."""
    own = type("Own", (LinearOutputLayer,), {method: replacement})
    monkeypatch.setitem(OUTPUT_LAYERS, "linear", own)
    dictionary = make_dictionary(15)
    with pytest.raises(UserError, match=rf"Own\.{message}"):
        build_output_layer(OutputLayerConfig(), nn.Embedding(19, 6), 6, dictionary)


def test_building_a_layer_draws_no_random_number_for_its_check():
    dictionary, seen = make_dictionary(15), []
    for check in (True, False):
        torch.manual_seed(1)
        embedding = nn.Embedding(19, 6)
        config = OutputLayerConfig(output_layer="deep_residual", deep_residual_dropout=0.5)
        if check:
            build_output_layer(config, embedding, 6, dictionary)
        else:
            OUTPUT_LAYERS["deep_residual"].build(config, embedding, 6, dictionary)
        seen.append(torch.rand(3).tolist())
    assert seen[0] == seen[1]


@pytest.mark.parametrize("name", ["tied", "joint", "output_structure", "deep_residual"])
@pytest.mark.parametrize("to", [torch.float64, "meta"])
def test_embeddings_of_another_type_or_device_are_no_reason_to_refuse(name, to):
    embedding = nn.Embedding(19, 6).to(to)
    config = OutputLayerConfig(output_layer=name)
    assert build_output_layer(config, embedding, 6, make_dictionary(15)).num_classes == 19


@pytest.mark.parametrize("option", [{"max_norm": 1.0}, {"scale_grad_by_freq": True}])
@pytest.mark.parametrize("name", ["tied", "bilinear", "joint"])
def test_embeddings_that_a_lookup_changes_are_refused(name, option):
    """Scores would be computed from other vectors than those that the decoder reads."""
    config, ((said, value),) = OutputLayerConfig(output_layer=name), option.items()
    with pytest.raises(UserError, match=f"Embedding with {said}={value}"):
        build_output_layer(config, nn.Embedding(19, 6, **option), 6, make_dictionary(15))


@pytest.mark.parametrize("shape", [(0, 6), (0, 2, 6), (2, 0, 6), (2, 6), (2, 3, 6), (2, 3, 2, 6)])
def test_candidates_per_sentence_of_any_batch(shape):
    layer = LinearOutputLayer(5, 6)
    hidden, candidates = torch.randn(shape), torch.randint(5, (shape[0], 3))
    found = layer.logits(hidden, candidates)
    assert found.shape == (*shape[:-1], 3)
    for sentence, ids, scores in zip(hidden, candidates, found, strict=True):
        torch.testing.assert_close(scores, layer.logits(sentence)[..., ids])


def test_the_hidden_size_of_tying_is_that_of_the_embeddings():
    embedding = nn.Embedding(5, 6)
    hidden = torch.randn(2, 6)
    assert TiedOutputLayer(embedding)(hidden).equal(hidden @ embedding.weight.t())


def test_a_layer_of_one_class_is_checked():
    LinearOutputLayer(1, 6).check_shapes(6)
