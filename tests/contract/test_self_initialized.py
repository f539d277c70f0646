"""What a layer has made itself starts as the layer says, in every model."""

import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.compositions import COMPOSITIONS
from fairseq_outlayers.compositions.morphsum import MorphSum
from fairseq_outlayers.layers.initialization import SelfInitialized
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.output_layers.tied import TiedOutputLayer
from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDINGS, InternalSourceEmbedding
from fairseq_outlayers.source_embeddings.base import SourceEmbedding
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TRANSLATION_ARCHITECTURES,
    make_model,
)

FIRST = 100.0  # outside the initial range of any model
LATER = 200.0


class Scaled(TiedOutputLayer):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.scale = nn.Parameter(torch.tensor(FIRST))

    def class_embeddings(self, ids=None):
        return self.scale * super().class_embeddings(ids)


class Refilled(LinearOutputLayer):
    def reset_parameters(self, initializer):
        super().reset_parameters(initializer)
        nn.init.constant_(self.weight, LATER)


class Shifted(SourceEmbedding):
    def __init__(self, inner):
        super().__init__()
        self.inner, self.shift = inner, nn.Parameter(torch.full((inner.embedding_dim,), FIRST))

    @classmethod
    def build(cls, config, dictionary, embed_dim, bidirectional):
        return cls(InternalSourceEmbedding.build(config, dictionary, embed_dim, bidirectional))

    def forward(self, ids, direction=0):
        return self.inner(ids) + self.shift


class Weights(SelfInitialized):
    def __init__(self, size):
        super().__init__()
        self.factors = nn.Parameter(torch.full((size,), FIRST))
        self.resets = nn.Parameter(torch.zeros(1))

    def reset_parameters(self, initializer):
        self.resets.data += 1


class WeightedSum(MorphSum):
    """Characters, so that a dictionary made in memory has them."""

    kind = "characters"
    parts = ("emb", "weights")

    def build_part(self, name):
        return Weights(self.output_size) if name == "weights" else super().build_part(name)

    def combine(self, parts, prepared):
        return parts["weights"].factors * parts["emb"].sum(prepared)


@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES])
def test_a_parameter_that_an_output_layer_makes_keeps_its_value(task, monkeypatch, arch):
    monkeypatch.setitem(OUTPUT_LAYERS, "scaled", Scaled)
    model = make_model(arch, task, output_layer="scaled")
    assert model.decoder.output_projection.scale.item() == FIRST


@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES])
def test_an_output_layer_has_the_last_word_on_its_parameters(task, monkeypatch, arch):
    monkeypatch.setitem(OUTPUT_LAYERS, "refilled", Refilled)
    model = make_model(arch, task, output_layer="refilled")
    assert model.decoder.output_projection.weight.eq(LATER).all()


@pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)
def test_a_parameter_that_a_source_embedding_makes_keeps_its_value(task, monkeypatch, arch):
    monkeypatch.setitem(SOURCE_EMBEDDINGS, "shifted", Shifted)
    embedding = make_model(arch, task, source_embedding="shifted").encoder.embed_tokens
    assert embedding.shift.eq(FIRST).all()
    assert embedding.inner.weight[task.source_dictionary.pad()].eq(0).all()
    assert 0 < embedding.inner.weight.abs().max() < FIRST


@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES])
def test_a_part_of_a_composition_with_a_start_of_its_own_keeps_it(task, monkeypatch, arch):
    monkeypatch.setitem(COMPOSITIONS, "weighted", WeightedSum)
    model = make_model(arch, task, output_layer="subword", composition="weighted")
    ends = [model.decoder.output_projection.parts]
    if arch == "subword_lm":
        ends.append(model.decoder.embed_tokens.parts)
    for parts in ends:
        assert parts["weights"].factors.eq(FIRST).all()
        assert parts["weights"].resets.item() >= 1
        assert parts["emb"].weight.abs().max() < FIRST
