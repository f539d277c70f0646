"""The composed output layer: what is tied is one and the same, and what is not is not."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn as nn
from fairseq.data import Dictionary

from fairseq_outlayers.compositions import ComposedEmbedding, compose_words
from fairseq_outlayers.compositions import embedding as embedding_module
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.options import OutputLayerConfig, reset_idle_options
from fairseq_outlayers.output_layers import build_output_layer
from fairseq_outlayers.output_layers.base import EmbeddingOutputLayer
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.output_layers.subword_composed import SubwordOutputLayer, tied_layers
from fairseq_outlayers.output_layers.tied import TiedOutputLayer

H = 6
UNITS = {"walks": "walk s", "talked": "talk ed", "talks": "talk s", "stalk": "s talk"}
LAYERS = {
    "charcnn": ["emb", "cnn", "hw1", "hw2"],
    "sylconcat": ["emb", "proj", "hw1", "hw2"],
    "morphsum": ["emb", "hw1", "hw2"],
}
each_composition = pytest.mark.parametrize("composition", LAYERS)


@pytest.fixture
def dictionary(tmp_path):
    path = tmp_path / "dict.txt"
    path.write_text("".join(f"{word} 1\n" for word in UNITS))
    for kind in ("morphs", "syllables"):
        lines = [f"{word}\t{units}\n" for word, units in UNITS.items()]
        (tmp_path / f"{kind}.txt").write_text("".join(lines))
    return Dictionary.load(str(path))


def make(dictionary, composition, tie, hidden_size=H, seed=0, **options):
    """Composed input embeddings and the output layer on top of them, in float64."""
    torch.manual_seed(seed)
    sizes = {
        "charcnn": {"unit_dim": 3, "char_widths": 2, "char_filters": 2},
        "sylconcat": {"unit_dim": 3, "highway_dim": H},
        "morphsum": {"unit_dim": H},
    }[composition]
    config = OutputLayerConfig(
        output_layer="subword", composition=composition, tie=tie, **{**sizes, **options}
    )
    embedding = ComposedEmbedding(compose_words(config, dictionary, H))
    layer = build_output_layer(config, embedding, hidden_size, dictionary)
    both = nn.ModuleList([embedding, layer]).double()
    for parameter in both.parameters():
        nn.init.normal_(parameter)
    return embedding, layer


def states(*shape, size=H):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*shape, size, dtype=torch.float64, generator=generator)


@each_composition
def test_under_a_full_tie_the_rows_are_the_input_vectors_bit_for_bit(dictionary, composition):
    embedding, layer = make(dictionary, composition, "re_rw")
    assert [name for name, _ in layer.named_parameters()] == ["bias"]
    words = torch.arange(len(dictionary))
    assert torch.equal(layer.class_embeddings(), embedding(words))
    with torch.no_grad():
        embedding.eval()
        layer.eval()
        assert torch.equal(layer.class_embeddings(), embedding(words))


@each_composition
@pytest.mark.parametrize("tie", ["none", "re", "rw", "re_rw", "emb,hw1", "emb,hw2", "hw1"])
def test_tied_layers_alone_are_shared(dictionary, composition, tie):
    embedding, layer = make(dictionary, composition, tie)
    names = LAYERS[composition]
    presets = {"none": [], "re": names[:1], "rw": names[1:], "re_rw": names}
    tied = presets.get(tie, tie.split(","))
    for name in names:
        same = layer.layers()[name] is embedding.parts[name]
        assert same == (name in tied), name
        own = any(parameter.startswith(f"parts.{name}.") for parameter, _ in named(layer))
        assert own == (name not in tied), name


def test_layers_that_need_a_table_of_embeddings_name_those_that_do_not():
    with pytest.raises(UserError, match=r"composed of units.*--output-layer subword, or linear"):
        EmbeddingOutputLayer.check_embedding(SimpleNamespace(words=None))


def named(module):
    return list(module.named_parameters())


@each_composition
@pytest.mark.parametrize("tie", ["re", "rw", "re_rw"])
def test_rows_follow_tied_layers_that_change_at_inference(dictionary, composition, tie):
    embedding, layer = make(dictionary, composition, tie)
    layer.eval()
    for name in sorted(layer._tied):
        with torch.no_grad():
            before = layer.class_embeddings()
            for parameter in embedding.parts[name].parameters():
                parameter.copy_(torch.randn_like(parameter))
            found = layer.class_embeddings()
        assert not found.equal(before), name
        torch.testing.assert_close(found, layer.class_embeddings(), rtol=1e-12, atol=1e-12)


@each_composition
def test_the_gradient_of_a_tied_layer_is_that_of_two_equal_copies_added_up(dictionary, composition):
    tied_input, tied_output = make(dictionary, composition, "re_rw")
    free_input, free_output = make(dictionary, composition, "none")
    free_input.load_state_dict(tied_input.state_dict())
    free_output.parts.load_state_dict(tied_input.parts.state_dict())
    free_output.bias.data.copy_(tied_output.bias.data)
    words, hidden = torch.tensor([[4, 6], [2, 4]]), states(2, 2)
    for embedding, layer in ((tied_input, tied_output), (free_input, free_output)):
        torch.log_softmax(layer(hidden * embedding(words)), dim=-1)[..., 5].sum().backward()
    copies = dict(named(free_output.parts))
    for name, parameter in named(free_input.parts):
        together = parameter.grad + copies[name].grad
        torch.testing.assert_close(dict(named(tied_input.parts))[name].grad, together)
        assert parameter.grad.abs().max() > 0
        assert copies[name].grad.abs().max() > 0


def test_words_with_the_same_morphs_differ_by_their_bias_alone(dictionary):
    talks, stalk = dictionary.index("talks"), dictionary.index("stalk")
    for composition, alike in (("morphsum", True), ("sylconcat", False)):
        _, layer = make(dictionary, composition, "re_rw")
        logits = layer(states(5)) - layer.bias
        assert torch.allclose(logits[:, talks], logits[:, stalk]) == alike


@each_composition
def test_word_vectors_of_another_size_are_projected_without_bias(dictionary, composition):
    options = {
        "charcnn": {"unit_dim": 3},
        "sylconcat": {"highway_dim": 5},
        "morphsum": {"unit_dim": 4},
    }[composition]
    embedding, layer = make(dictionary, composition, "re_rw", hidden_size=9, **options)
    rows = embedding(torch.arange(len(dictionary)))
    assert layer.projection.weight.shape == (9, embedding.embedding_dim)
    expected = rows @ layer.projection.weight.t()
    torch.testing.assert_close(layer.class_embeddings(), expected)
    assert layer(states(3, size=9)).shape == (3, len(dictionary))


def test_original_is_a_plain_softmax_and_words_are_tied_or_not(dictionary):
    def layer(**options):
        config = OutputLayerConfig(output_layer="subword", **options)
        return build_output_layer(config, nn.Embedding(len(dictionary), H), H, dictionary)

    assert type(layer(tie="original")) is LinearOutputLayer
    for tie in ("re", "re_rw", "emb"):
        assert type(layer(composition="word", tie=tie)) is TiedOutputLayer
    for tie in ("none", "rw", "original"):
        assert type(layer(composition="word", tie=tie)) is LinearOutputLayer


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        ({"composition": "morphsum"}, "--composition morphsum"),
        ({"unit_dim": 7}, "--unit-dim 7"),
        ({"char_widths": 3}, "--char-widths 3"),
    ],
)
def test_options_of_a_composition_are_refused_where_nothing_is_composed(dictionary, options, flag):
    config = OutputLayerConfig(output_layer="subword", tie="original", **options)
    with pytest.raises(UserError, match=f"{flag} has no effect with --tie original"):
        build_output_layer(config, nn.Embedding(len(dictionary), H), H, dictionary)
    # As stored in a checkpoint of a version that accepted it.
    reset_idle_options(config)
    build_output_layer(config, nn.Embedding(len(dictionary), H), H, dictionary)


def test_a_layer_that_extends_this_one_always_composes(dictionary):
    """Its options would have no effect in a plain softmax, silently."""
    config = OutputLayerConfig(output_layer="mine", tie="original")
    with pytest.raises(UserError, match="'original' is neither a layer of this --composition"):
        SubwordOutputLayer.build(config, nn.Embedding(len(dictionary), H), H, dictionary)


@pytest.mark.parametrize(
    ("composition", "tie", "message"),
    [
        ("morphsum", "proj", r"--tie proj: 'proj' is neither a layer .*\(emb, hw1, hw2\)"),
        ("sylconcat", "emb,cnn", r"'cnn' is neither a layer .*\(emb, proj, hw1, hw2\) nor one of"),
        ("charcnn", "", r"'' is neither .*original, none, re, rw, re_rw"),
    ],
)
def test_a_name_that_is_no_layer_is_refused_with_the_known_ones(composition, tie, message):
    with pytest.raises(UserError, match=message):
        tied_layers(tie, LAYERS[composition])


def test_a_plain_table_of_input_embeddings_cannot_be_shared(dictionary):
    config = OutputLayerConfig(output_layer="subword", composition="morphsum", tie="re")
    with pytest.raises(UserError, match=r"--tie re: the input embeddings .* plain table"):
        build_output_layer(config, nn.Embedding(len(dictionary), H), H, dictionary)


@pytest.mark.parametrize(
    ("composition", "option"),
    [
        ("morphsum", "unit_dim"),
        ("sylconcat", "highway_dim"),
        ("charcnn", "char_widths"),
        ("charcnn", "char_filters"),
    ],
)
def test_sizes_without_meaning_are_refused(dictionary, composition, option):
    config = OutputLayerConfig(output_layer="subword", composition=composition, **{option: -1})
    with pytest.raises(UserError, match=f"--{option.replace('_', '-')} -1"):
        compose_words(config, dictionary, H)


def test_a_checkpoint_that_was_trained_with_other_units_is_refused(dictionary, tmp_path):
    embedding, _ = make(dictionary, "morphsum", "re_rw")
    table = (tmp_path / "morphs.txt").read_text()
    # As many units, but other ones.
    (tmp_path / "morphs.txt").write_text(table.replace("walk s", "walks ed"))
    other, _ = make(dictionary, "morphsum", "re_rw")
    with pytest.raises(UserError, match=r"trained with other morphs: copy the morphs\.\*\.txt"):
        other.load_state_dict(embedding.state_dict())


def test_at_inference_input_vectors_are_kept_until_training_goes_on(dictionary, monkeypatch):
    embedding, _ = make(dictionary, "morphsum", "re_rw")
    words = torch.tensor([[4, 5], [5, 5]])
    expected = embedding(words)
    composed = []
    compose = embedding.words.composition.compose
    monkeypatch.setattr(
        embedding.words.composition,
        "compose",
        lambda parts, ids: composed.append(len(ids)) or compose(parts, ids),
    )
    torch.testing.assert_close(embedding.train()(words), expected)
    assert composed == [2]  # each distinct word once
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(embedding.eval()(words), expected)
    assert composed == [2, len(dictionary)]


def test_windows_of_all_words_are_found_once(dictionary, monkeypatch):
    embedding, layer = make(dictionary, "charcnn", "re_rw")
    prepared, prepare = [], embedding.words.composition.prepare_all
    monkeypatch.setattr(
        embedding.words.composition,
        "prepare_all",
        lambda ids: prepared.append(len(ids)) or prepare(ids),
    )
    expected = layer.class_embeddings()
    torch.testing.assert_close(layer.class_embeddings(), expected)
    assert prepared == [len(dictionary)]
    # As after a move to another device.
    embedding.words.ids = embedding.words.ids.flip(0)
    torch.testing.assert_close(layer.class_embeddings(), expected.flip(0))


@each_composition
def test_input_vectors_follow_every_layer_that_changes_at_inference(dictionary, composition):
    embedding, _ = make(dictionary, composition, "none")
    embedding.eval()
    words = torch.arange(len(dictionary))
    for name in LAYERS[composition]:
        with torch.no_grad():
            before = embedding(words)
            for parameter in embedding.parts[name].parameters():
                parameter.copy_(torch.randn_like(parameter))
            found = embedding(words)
        assert not found.equal(before), name
        torch.testing.assert_close(found, embedding(words), rtol=1e-12, atol=1e-12)


@each_composition
def test_words_composed_in_parts_are_all_words(dictionary, composition, monkeypatch):
    embedding, _ = make(dictionary, composition, "none")
    expected = embedding(torch.arange(len(dictionary)))
    monkeypatch.setattr(embedding_module, "WORDS_AT_A_TIME", 3)
    with torch.no_grad():
        torch.testing.assert_close(embedding.eval().all_words(), expected)


def test_options_of_a_composition_are_refused_beside_an_embedding_per_word(dictionary):
    config = OutputLayerConfig(output_layer="subword", composition="word", unit_dim=7)
    with pytest.raises(UserError, match="--unit-dim 7 has no effect with --composition word"):
        build_output_layer(config, nn.Embedding(len(dictionary), H), H, dictionary)
