"""``torch.jit.script`` of our models, wherever it works on fairseq's own."""

import copy
from types import SimpleNamespace

import pytest
import torch
from fairseq.models import ARCH_CONFIG_REGISTRY, MODEL_REGISTRY
from fairseq.models.transformer_lm import TransformerLanguageModelConfig
from fairseq.sequence_generator import SequenceGenerator

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from fairseq_outlayers.output_layers.compiled import NotCompiled
from fairseq_outlayers.output_layers.structure import ACTIVATIONS
from fairseq_outlayers.output_layers.tied import TiedOutputLayer
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TRANSLATION_ARCHITECTURES,
    make_batch,
    make_model,
    small_sizes,
)

LENGTHS = [(6, 5), (4, 3), (2, 2)]
# fairseq's own model of the same kind.
STOCK = {
    "transformer_outlayers": "transformer",
    "luong_lstm": "lstm",
    "transformer_lm_outlayers": "transformer_lm",
}
WITHOUT = sorted({*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES} - {*STOCK})


def with_biases(model):
    """Class biases start at zero; those of a trained model are not."""
    bias = model.decoder.output_projection.bias
    if bias is not None:
        torch.nn.init.normal_(bias)
    return model.eval()


def assert_compiled_scores_are_the_models(model, batch):
    before = copy.deepcopy(model.state_dict())
    layer = model.decoder.output_projection
    compiled = torch.jit.script(model)
    scores = compiled(**batch)[0]
    features = compiled(**batch, features_only=True)[0]
    torch.testing.assert_close(scores, layer(features), rtol=1e-12, atol=1e-12)
    # Below that is fairseq's Transformer, whose compiled attention has a softmax in float32.
    torch.testing.assert_close(scores, model(**batch)[0], rtol=1e-4, atol=1e-5)
    # The model itself can be trained on and saved as if nothing had happened.
    assert model.decoder.output_projection is layer
    assert model.state_dict().keys() == before.keys()
    return compiled


@pytest.mark.parametrize("layer", OUTPUT_LAYERS)
def test_a_compiled_transformer_scores_as_the_model(task, layer):
    model = with_biases(make_model("transformer_outlayers", task, output_layer=layer))
    assert_compiled_scores_are_the_models(model, make_batch(task, LENGTHS)["net_input"])


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layer", OUTPUT_LAYERS)
def test_a_compiled_lstm_scores_as_the_model(task, layer, bidirectional):
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "bidirectional_encoder": bidirectional}
    model = with_biases(make_model("luong_lstm", task, output_layer=layer, **sizes))
    batch = make_batch(task, LENGTHS)["net_input"]  # the longest first, as fairseq's LSTM wants
    before = copy.deepcopy(model.state_dict())
    found, _ = torch.jit.script(model)(**batch)
    torch.testing.assert_close(found, model(**batch)[0])
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)


class Gated(TiedOutputLayer):
    """Its ``project`` has a module, a parameter and a buffer, and another module it does not."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        size = self.embedding.embedding_dim
        self.gate = torch.nn.Linear(size, size)
        self.gain = torch.nn.Parameter(torch.full((size,), 2.0))
        self.register_buffer("offset", torch.ones(size))
        self.unused = torch.nn.ModuleDict({"x": Unscriptable()})

    def project(self, hidden):
        return torch.sigmoid(self.gate(hidden)) * self.gain * hidden + self.offset


class Unscriptable(torch.nn.Module):
    def forward(self, *many, **more):
        return many, more


def test_a_new_layer_is_compiled_without_further_declarations(task, monkeypatch):
    monkeypatch.setitem(OUTPUT_LAYERS, "gated", Gated)
    model = with_biases(make_model("transformer_outlayers", task, output_layer="gated"))
    assert_compiled_scores_are_the_models(model, make_batch(task, LENGTHS)["net_input"])


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("layer", ["joint", "context_structure", "output_structure"])
def test_every_nonlinearity_is_compiled(task, layer, activation):
    options = {"joint_activation": activation}
    if layer == "joint":
        options["joint_layers"] = 3
    model = with_biases(make_model("transformer_outlayers", task, output_layer=layer, **options))
    assert_compiled_scores_are_the_models(model, make_batch(task, LENGTHS)["net_input"])


@pytest.mark.parametrize("layer", ["linear", "tied", "joint"])
def test_a_compiled_search_translates_as_the_search(task, layer):
    model = with_biases(make_model("transformer_outlayers", task, output_layer=layer).float())
    generator = SequenceGenerator([model], task.target_dictionary, beam_size=3, max_len_b=6)
    batch = make_batch(task, LENGTHS)
    expected = generator.forward({"net_input": batch["net_input"]})
    compiled = torch.jit.script(generator)
    found = compiled({"net_input": batch["net_input"]})
    for one, other in zip(found, expected, strict=True):
        assert [h["tokens"].tolist() for h in one] == [h["tokens"].tolist() for h in other]


def test_a_compiled_model_is_saved_and_loaded_without_this_package_s_code(task, tmp_path):
    model = with_biases(make_model("transformer_outlayers", task, output_layer="joint"))
    batch = make_batch(task, LENGTHS)["net_input"]
    torch.jit.script(model).save(str(tmp_path / "model.ts"))
    loaded = torch.jit.load(str(tmp_path / "model.ts"))
    torch.testing.assert_close(loaded(**batch)[0], model(**batch)[0], rtol=1e-4, atol=1e-5)


def test_fairseqs_own_models_are_compiled_and_its_language_model_is_not(task):
    sizes = SimpleNamespace(**small_sizes("transformer_outlayers"))
    ARCH_CONFIG_REGISTRY["transformer"](sizes)
    stock = MODEL_REGISTRY["transformer"].build_model(sizes, task).double().eval()
    batch = make_batch(task, LENGTHS)["net_input"]
    found = torch.jit.script(stock)(**batch)[0]
    torch.testing.assert_close(found, stock(**batch)[0], rtol=1e-4, atol=1e-5)
    sizes = SimpleNamespace(encoder_hidden_size=8, decoder_hidden_size=8, criterion="cross_entropy")
    ARCH_CONFIG_REGISTRY["lstm"](sizes)
    torch.jit.script(MODEL_REGISTRY["lstm"].build_model(sizes, task))
    config = TransformerLanguageModelConfig(**small_sizes("transformer_lm_outlayers"))
    model = MODEL_REGISTRY["transformer_lm"].build_model(config, task)
    with pytest.raises(torch.jit.frontend.NotSupportedError, match="variable number of arguments"):
        torch.jit.script(model)


@pytest.mark.parametrize("arch", WITHOUT)
def test_models_without_one_of_fairseqs_say_that_they_cannot_be_compiled(task, arch):
    model = make_model(arch, task).eval()
    if not isinstance(model, NotCompiled):  # of another package
        assert_compiled_scores_are_the_models(model, make_batch(task, LENGTHS)["net_input"])
        return
    with pytest.raises(
        UserError, match=rf"torch.jit.script: cannot compile {type(model).__name__}"
    ):
        torch.jit.script(model)


def test_a_model_in_training_is_refused(task):
    model = make_model("transformer_outlayers", task, output_layer="joint").train()
    with pytest.raises(UserError, match=r"call model.eval\(\) first"):
        torch.jit.script(model)


@pytest.mark.parametrize("arch", ["transformer_outlayers", "luong_lstm"])
def test_source_vectors_that_are_no_table_are_refused(task, arch, external_table):
    model = make_model(
        arch,
        task,
        source_embedding="mix_sum",
        external_embeddings=external_table,
    ).eval()
    with pytest.raises(UserError, match=r"cannot compile the source embedding MixSum"):
        torch.jit.script(model)


def test_a_language_model_is_as_fairseqs(task):
    model = make_model("transformer_lm_outlayers", task).eval()
    with pytest.raises(torch.jit.frontend.NotSupportedError, match="variable number of arguments"):
        torch.jit.script(model)


@pytest.mark.parametrize("arch", ["transformer_outlayers", "luong_lstm"])
def test_a_table_without_a_row_for_every_source_word_is_refused(task, arch):
    model = make_model(arch, task, internal_vocabulary=12).eval()
    with pytest.raises(UserError, match="cannot compile the source embedding InternalSource"):
        torch.jit.script(model)
