"""Principal components and transform gates, against cases worked out by hand."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.evaluation import principal_components, transform_gates
from fairseq_outlayers.modules.composed_embedding import ComposedEmbedding
from fairseq_outlayers.output_layers import OutputLayerConfig, build_output_layer
from fairseq_outlayers.output_layers.subword_composed import compose_words
from tests.conftest import make_dictionary


def test_variance_is_that_of_the_axes_and_a_shift_changes_nothing():
    # Variances 9 : 3 : 0 along three orthogonal directions, around a mean far from zero.
    along = torch.tensor([[3.0, 0, 0], [-3, 0, 0], [0, 3**0.5, 0], [0, -(3**0.5), 0]])
    rotation, _ = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(1)))
    explained = principal_components.explained_variance(along @ rotation + 100)
    assert explained.tolist() == pytest.approx([0.75, 1, 1], abs=1e-5)
    assert principal_components.components_needed(explained, 0.5) == 1
    assert principal_components.components_needed(torch.tensor([0.75, 1, 1]), 0.75) == 1
    assert principal_components.components_needed(explained, 0.9) == 2


@pytest.fixture
def decoder():
    """Untied character models at both sides, with gates set by hand."""
    dictionary = make_dictionary(6)
    config = OutputLayerConfig(
        output_layer="subword", composition="charcnn", char_widths=2, char_filters=2
    )
    embedding = ComposedEmbedding(compose_words(config, dictionary, 6))
    output = build_output_layer(config, embedding, 6, dictionary)
    for layers, bias in ((embedding.parts, 0.0), (output.parts, 4.0)):
        for name in ("hw1", "hw2"):
            nn.init.zeros_(layers[name].projection.weight)
            nn.init.constant_(layers[name].projection.bias, bias)
    return SimpleNamespace(embed_tokens=embedding, output_projection=output)


def test_gates_are_those_of_each_sides_own_layers(decoder):
    means = {}
    for side, words, layers in transform_gates.sides(decoder):
        found = transform_gates.gates(words.composition, layers, words.ids)
        assert found["hw2"].shape == (10, 6)
        means[side] = {name: gate.mean().item() for name, gate in found.items()}
    low, high = torch.sigmoid(torch.tensor([-2.0, 2.0])).tolist()
    assert means["input"] == pytest.approx({"hw1": low, "hw2": low})
    assert means["output"] == pytest.approx({"hw1": high, "hw2": high})


def test_a_model_without_composed_vectors_is_refused():
    plain = SimpleNamespace(embed_tokens=nn.Embedding(3, 2), output_projection=nn.Linear(2, 3))
    with pytest.raises(UserError, match="composes no word vectors"):
        list(transform_gates.sides(plain))
