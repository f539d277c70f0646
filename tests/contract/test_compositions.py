"""What every composition must do, at the input and at the output; a new one is tested unasked."""

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from fairseq_outlayers.compositions import COMPOSITIONS
from fairseq_outlayers.compositions.units import PADDING
from fairseq_outlayers.options import OutputLayerConfig
from fairseq_outlayers.output_layers import build_output_layer
from tests.conftest import (
    SUBWORD_WORDS,
    dictionary_with_units,
    make_language_batch,
    make_model,
    make_task,
    needed_composition_options,
)

H = 8
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.parametrize("composition", COMPOSITIONS)


@pytest.fixture
def task(tmp_path):
    """A dictionary with a table of every kind of units beside it."""
    task = make_task()
    task.source_dictionary = task.target_dictionary = dictionary_with_units(tmp_path)
    return task


@pytest.fixture
def model(task, composition):
    return make(task, composition)


def make(task, composition, seed=1, **options):
    options = {"output_layer": "subword", "tie": "none", "init_range": 0.3, **options}
    return make_model("subword_lm", task, seed=seed, composition=composition, **options)


def test_vectors_of_some_words_are_rows_of_all(model):
    for words, layers in (
        (model.decoder.embed_tokens.words, model.decoder.embed_tokens.parts),
        (model.decoder.output_projection.words, model.decoder.output_projection.layers()),
    ):
        every = words(layers)
        for ids in (torch.tensor([3]), torch.tensor([[9, 4], [5, 4]])):
            torch.testing.assert_close(words(layers, ids), every[ids])
        torch.testing.assert_close(every, words(layers, torch.arange(len(every))))


def test_a_longer_word_in_the_dictionary_changes_no_other_vector(task, composition):
    """Rows of units are padded to the longest word."""
    model = make(task, composition, **needed_composition_options(composition))
    words, parts = model.decoder.embed_tokens.words, model.decoder.embed_tokens.parts
    if words.composition.most_units is not None:
        pytest.skip("has a place for every unit that a word can have")
    padded = F.pad(words.ids, (0, 3), value=PADDING)
    torch.testing.assert_close(words.compose(parts, padded), words.compose(parts, words.ids))
    for word, units in enumerate(words.ids):
        alone = units[units.ne(PADDING)].unsqueeze(0)
        expected = words(parts, torch.tensor([word]))
        torch.testing.assert_close(words.compose(parts, alone), expected)


def test_every_word_has_a_vector_and_different_units_give_different_ones(model):
    vectors = model.decoder.embed_tokens(torch.arange(4 + len(SUBWORD_WORDS)))
    assert vectors.isfinite().all()
    distances = torch.cdist(vectors, vectors) + torch.eye(len(vectors))
    units = model.decoder.embed_tokens.words.ids.sort(1).values
    same = (units.unsqueeze(0) == units.unsqueeze(1)).all(-1)
    assert (distances[~same] > 1e-6).all()


def test_every_part_at_either_end_is_trained(model, task):
    logits, _ = model.train()(**make_language_batch(task, [4, 6])["net_input"])
    logits.log_softmax(-1)[..., 5].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def test_a_tied_part_is_one_layer_under_two_names(task, composition):
    parts = COMPOSITIONS[composition].parts
    for tied in [*parts, "hw1", "hw2"]:
        decoder = make(task, composition, tie=tied).decoder
        layers, inputs = decoder.output_projection.layers(), decoder.embed_tokens.parts
        for name in [*parts, "hw1", "hw2"]:
            assert (layers[name] is inputs[name]) == (name == tied)


def test_a_model_without_composed_input_composes_its_classes(task, composition):
    config = OutputLayerConfig(output_layer="subword", composition=composition)
    embedding = nn.Embedding(len(task.target_dictionary), H)
    layer = build_output_layer(config, embedding, H, task.target_dictionary).double()
    hidden = torch.randn(3, H, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    every = layer.logits(hidden)
    assert every.shape == (3, len(task.target_dictionary))
    candidates = torch.tensor([2, 9, 4])
    torch.testing.assert_close(layer.logits(hidden, candidates), every[:, candidates])


def test_at_inference_vectors_are_those_of_training(model):
    words = torch.tensor([[4, 5, 9], [7, 6, 6]])
    expected = model.decoder.embed_tokens.train()(words)
    with torch.no_grad():
        found = model.decoder.embed_tokens.eval()(words)
    torch.testing.assert_close(found, expected)


def test_a_saved_model_loads_strictly_without_the_units(task, model, composition):
    state = model.state_dict()
    assert all(name.endswith("units_version") or "ids" not in name for name in state)
    other = make(task, composition, seed=2)
    other.load_state_dict(state, strict=True)
    batch = make_language_batch(task, [4, 2])["net_input"]
    torch.testing.assert_close(other.eval()(**batch)[0], model.eval()(**batch)[0])


def vectors_of_all(folder):
    """By composition, vectors of the words of :func:`dictionary_with_units`; printed as JSON."""
    task = make_task()
    task.source_dictionary = task.target_dictionary = dictionary_with_units(folder)
    models = {name: make(task, name).decoder.embed_tokens for name in COMPOSITIONS}
    print(json.dumps({name: embed.all_words().tolist() for name, embed in models.items()}))


@functools.cache
def printed(hash_seed):
    """What :func:`vectors_of_all` prints in a process of its own."""
    code = "import sys; from tests.contract import test_compositions as t; "
    code += "t.vectors_of_all(sys.argv[1])"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", code, folder]
        return json.loads(subprocess.check_output(command, cwd=ROOT, env=environment, text=True))


def test_vectors_are_the_same_in_every_process(composition):
    """Python's hash of a text differs between processes, and so does the order of a set."""
    vectors = printed("1")[composition]
    assert len(vectors) > len(SUBWORD_WORDS)
    assert vectors == printed("2")[composition]


def test_vectors_of_another_width_than_promised_are_refused(task, composition, monkeypatch):
    model = make_model("subword_lm", task, composition=composition, output_layer="subword")
    composed = model.decoder.embed_tokens.words.composition
    monkeypatch.setattr(
        type(composed), "combine", lambda *_: torch.zeros(2, composed.output_size - 1)
    )
    with pytest.raises(
        ValueError, match=rf"combine made vectors of {composed.output_size - 1} dim"
    ):
        composed.compose({}, None)
