"""Nearest neighbours in both spaces of a model, against cosines computed one by one."""

import json
import math

import pytest
import torch

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.analysis.neighbours import neighbours, plane, spaces, word_maps
from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.checkpoints.loading import Trained, real_words
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TRANSLATION_ARCHITECTURES,
    make_model,
    make_task,
)


def make_trained(task, arch="luong_lstm", output_layer="joint", **options):
    return Trained(make_model(arch, task, output_layer=output_layer, **options).eval(), task)


def cosine(a, b):
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def by_cosine(vectors, query, dictionary, number):
    vectors = vectors.tolist()
    ranked = sorted(
        (-cosine(vectors[query], vectors[other]), dictionary[other])
        for other in range(dictionary.nspecial, len(dictionary))
        if other != query
    )
    return [(word, pytest.approx(-negated, abs=1e-6)) for negated, word in ranked[:number]]


@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES])
@pytest.mark.parametrize("output_layer", OUTPUT_LAYERS)
def test_neighbours_are_the_words_with_the_highest_cosine_in_each_space(arch, output_layer):
    task = make_task(num_source=17, num_target=17)  # a language model has one dictionary
    trained = make_trained(task, arch, output_layer)
    dictionary = task.target_dictionary
    found = neighbours(trained, ["w3", "w0"], 4)
    assert list(found) == ["w3", "w0"]
    classes = trained.model.decoder.output_projection.class_embeddings().detach()
    for word, lists in found.items():
        query = dictionary.index(word)
        table = trained.model.decoder.embed_tokens.weight.detach()
        assert lists.input == by_cosine(table, query, dictionary, 4)
        assert lists.output == by_cosine(classes, query, dictionary, 4)


def test_the_output_space_of_the_joint_layer_is_the_joint_space(task):
    trained = make_trained(task, joint_dim=5)
    assert trained.output_layer.class_embeddings().shape == (len(task.target_dictionary), 5)
    found = neighbours(trained, ["w1"], 99)["w1"]
    assert found.input != found.output
    assert found.shared == len(found.output) == 16  # all other words


def test_tied_spaces_are_one(task):
    found = neighbours(make_trained(task, output_layer="tied"), ["w1"], 5)["w1"]
    assert found.input == found.output
    assert found.shared == 5


def test_words_whose_input_vectors_are_composed_have_neighbours_too(task):
    trained = make_trained(task, "subword_lm", "subword", composition="charcnn", tie="emb")
    dictionary, words = task.target_dictionary, torch.arange(len(task.target_dictionary))
    found = neighbours(trained, ["w3"], 4)["w3"]
    with torch.no_grad():
        read = trained.model.decoder.embed_tokens(words)
        written = trained.model.decoder.output_projection.class_embeddings()
    assert found.input == by_cosine(read, dictionary.index("w3"), dictionary, 4)
    assert found.output == by_cosine(written, dictionary.index("w3"), dictionary, 4)
    assert found.input != found.output


def test_special_symbols_and_padding_of_the_dictionary_are_no_words(task):
    task.target_dictionary.add_symbol("madeupword0000")
    task.target_dictionary.add_symbol("madeupwordsmith")
    words = [task.target_dictionary[k] for k in real_words(task.target_dictionary)]
    assert words == [*(f"w{k}" for k in range(17)), "madeupwordsmith"]


def test_words_that_are_not_in_the_dictionary_are_named(task):
    with pytest.raises(UserError, match=r"--words yak emu: not in the target dictionary"):
        neighbours(make_trained(task), ["yak", "w1", "emu"], 2)


@pytest.fixture
def command(task, monkeypatch):
    """Runs the command with models made on the spot, named after their output layers."""
    monkeypatch.setattr(loading, "load", lambda path, data: make_trained(task, output_layer=path))
    return lambda *options: main(["neighbours", *map(str, options)])


def test_the_table_has_both_spaces_side_by_side(command, task, capsys):
    command("--path", "joint", "tied", "--words", "w1", "w2", "--number", 2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "joint: JointOutputLayer"
    assert lines[2].split("  ")[0] == "word"
    lists = neighbours(make_trained(task), ["w1"], 2)["w1"]
    cells = [f"{value:.2f} {word}" for word, value in (lists.input[0], lists.output[0])]
    assert lines[4].split() == ["w1", *" ".join(cells).split(), str(lists.shared)]
    assert "tied: TiedOutputLayer" in lines


def test_json_has_the_neighbours_of_every_model(command, task, capsys):
    command("--path", "joint", "tied", "--words", "w1", "--number", 2, "--json")
    report = json.loads(capsys.readouterr().out)
    assert list(report) == ["joint", "tied"]
    expected = neighbours(make_trained(task), ["w1"], 2)["w1"]
    assert report["joint"]["w1"]["output"] == [list(pair) for pair in expected.output]


def test_points_of_a_plane_keep_their_distances_on_the_map():
    # Directions 0, 60 and 90 degrees in a plane that lies askew in five dimensions.
    angles = torch.tensor([0, math.pi / 3, math.pi / 2], dtype=torch.double)
    basis, _ = torch.linalg.qr(torch.randn(5, 2, dtype=torch.double))
    directions = torch.stack([angles.cos(), angles.sin()], dim=1)
    lengths = torch.tensor([[1.0], [7.0], [0.2]])
    found = plane(lengths * directions @ basis.T)
    torch.testing.assert_close(torch.cdist(found, found), torch.cdist(directions, directions))
    assert plane(torch.tensor([[2.0, 1.0]])).tolist() == [[0, 0]]


def test_a_map_has_each_word_with_its_neighbours_of_that_space(task):
    trained = make_trained(task)
    found = neighbours(trained, ["w1", "w2"], 3)
    at_input, at_output = word_maps(trained, "mine", found)
    assert (at_input.title, at_output.title) == ("mine, input", "mine, output")
    for drawn, side in ((at_input, "input"), (at_output, "output")):
        for word, group in drawn.groups.items():
            assert [name for name, *_ in group] == [
                word,
                *(near for near, _ in getattr(found[word], side)),
            ]
        shown = list(dict.fromkeys(name for group in drawn.groups.values() for name, *_ in group))
        ids = torch.tensor([task.target_dictionary.index(name) for name in shown])
        places = dict(zip(shown, plane(spaces(trained)[side][ids]).tolist(), strict=True))
        for group in drawn.groups.values():
            assert all([x, y] == places[name] for name, x, y in group)


def test_one_space_under_two_names_has_one_map(task):
    trained = make_trained(task, output_layer="tied")
    (drawn,) = word_maps(trained, "mine", neighbours(trained, ["w1", "w2"], 3))
    assert drawn.title == "mine, input and output"


def test_maps_of_all_models_are_drawn(command, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    plot = tmp_path / "maps.svg"
    command("--path", "joint", "tied", "--words", "w1", "--number", 2, "--plot", plot)
    assert plot.read_text().count('<g id="axes_') == 4
    assert str(plot) not in capsys.readouterr().out


def test_no_neighbours_at_all_cannot_be_asked_for(command):
    with pytest.raises(UserError, match="--number 0: must be at least 1"):
        command("--path", "joint", "--words", "w1", "--number", 0)


def test_a_checkpoint_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.pt: no such checkpoint"):
        loading.load(str(tmp_path / "none.pt"))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/ptb.word_re/seed1-abc/checkpoints/checkpoint_best.pt", "ptb.word_re"),
        ("mine/checkpoints/checkpoint_best.pt", "mine"),
        ("mine/checkpoint_last.pt", "mine"),
        ("checkpoints/checkpoint_best.pt", "checkpoint_best"),
    ],
)
def test_a_model_is_named_after_its_run(path, name):
    assert loading.run_name(path) == name


@pytest.mark.parametrize("name", ["gone", "too_long_" * 12_000 + "gone"])
def test_a_data_folder_without_dictionaries_is_named(tmp_path, name):
    path = tmp_path / "checkpoint.pt"
    task = {"_name": "translation", "data": str(tmp_path / name)}
    history = [{"best_loss": 1}]
    state = {"cfg": {"task": task, "model": {}}, "optimizer_history": history, "extra_state": {}}
    torch.save({**state, "model": {"weight": torch.zeros(1)}}, path)
    with pytest.raises(UserError, match=r"gone, the data of .*has no dictionaries: pass --data"):
        loading.load(str(path))
