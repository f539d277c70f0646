"""Principal components and transform gates, against cases worked out by hand."""

import json
import logging
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.analysis import principal_components, transform_gates
from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.checkpoints.loading import Trained
from fairseq_outlayers.compositions import ComposedEmbedding, compose_words
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.options import OutputLayerConfig
from fairseq_outlayers.output_layers import build_output_layer
from tests.conftest import make_dictionary, make_model


def test_variance_is_that_of_the_axes_and_a_shift_changes_nothing():
    # Variances 9 : 3 : 0 along three orthogonal directions, around a mean far from zero.
    along = torch.tensor([[3.0, 0, 0], [-3, 0, 0], [0, 3**0.5, 0], [0, -(3**0.5), 0]])
    rotation, _ = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(1)))
    explained = principal_components.explained_variance(along @ rotation + 100)
    assert explained.tolist() == pytest.approx([0.75, 1, 1], abs=1e-5)
    assert principal_components.components_needed(explained, 0.5) == 1
    assert principal_components.components_needed(torch.tensor([0.75, 1, 1]), 0.75) == 1
    assert principal_components.components_needed(explained, 0.9) == 2


def test_a_share_that_components_reach_exactly_is_not_missed_by_rounding():
    explained = torch.full((10,), 0.1, dtype=torch.double).cumsum(0)
    assert explained[7] < 0.8
    assert principal_components.components_needed(explained, 0.8) == 8


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


def test_the_second_gate_reads_what_the_first_layer_has_made_of_a_vector(decoder):
    words, layers = decoder.embed_tokens.words, decoder.embed_tokens.parts
    for layer in (layers["hw1"], layers["hw2"]):
        nn.init.normal_(layer.projection.weight, generator=torch.Generator().manual_seed(1))
    x, expected = words.composition.combine(layers, words.composition.prepare(words.ids)), {}
    for name in ("hw1", "hw2"):
        gate, candidate = layers[name].projection(x).chunk(2, dim=-1)
        t = expected[name] = torch.sigmoid(gate - 2)
        x = t * candidate.relu() + (1 - t) * x
    torch.testing.assert_close(
        transform_gates.gates(words.composition, layers, words.ids), expected
    )


def test_a_model_without_composed_vectors_is_refused():
    plain = SimpleNamespace(embed_tokens=nn.Embedding(3, 2), output_projection=nn.Linear(2, 3))
    with pytest.raises(UserError, match="composes no word vectors"):
        list(transform_gates.sides(plain))


CHARACTERS = {"composition": "charcnn", "char_widths": 2, "char_filters": 2}


@pytest.fixture
def trained(task):
    """A model whose composed vectors have 6 dimensions and whose states have 8."""
    model = make_model("subword_lm", task, output_layer="subword", tie="none", **CHARACTERS)
    return Trained(model.eval(), task)


@pytest.fixture
def run(trained, monkeypatch):
    """Runs a command on that model, whatever the checkpoint is called."""
    monkeypatch.setattr(loading, "load", lambda path, data: trained)
    return lambda command, *options: main([command, *map(str, options)])


def test_json_has_the_numbers_of_the_table_for_every_model(run, capsys):
    runs = ("ptb.a/seed3-abc", "ptb.b/seed12-abc")
    models = [f"runs/{run}/checkpoints/checkpoint_best.pt" for run in runs]
    run("transform-gates", *models, "--json")
    rows = json.loads(capsys.readouterr().out)
    assert [row["model"] for row in rows] == ["ptb.a"] * 4 + ["ptb.b"] * 4
    assert [row["seed"] for row in rows] == [3] * 4 + [12] * 4
    run("transform-gates", *models)
    heading, _, *table = capsys.readouterr().out.splitlines()
    assert heading == f"| {' | '.join(rows[0])} |"
    for row, line in zip(rows, table, strict=True):
        shown = [f"{x:.3f}" if isinstance(x, float) else str(x) for x in row.values()]
        assert line == f"| {' | '.join(shown)} |"


def test_a_model_that_is_no_run_of_a_recipe_has_no_seed_beside_one_that_is(run, capsys):
    models = ["mine/checkpoint_best.pt", "runs/ptb.a/seed3-abc/checkpoints/checkpoint_best.pt"]
    for order, seeds in ((models, [None] * 4 + [3] * 4), (models[::-1], [3] * 4 + [None] * 4)):
        run("transform-gates", *order, "--json")
        rows = json.loads(capsys.readouterr().out)
        assert [row["seed"] for row in rows] == seeds
        run("transform-gates", *order)
        heading, _, *table = capsys.readouterr().out.splitlines()
        assert heading.endswith("| seed |")
        shown = ["" if seed is None else str(seed) for seed in seeds]
        assert [line.split("|")[-2].strip() for line in table] == shown
        assert {line.count("|") for line in table} == {heading.count("|")}


def test_studies_are_of_the_words_alone_without_fairseqs_own_symbols(trained):
    decoder = trained.model.decoder
    rows = {(row["side"], row["layer"]): row for row, _ in transform_gates.study(trained)}
    for side, words, layers in transform_gates.sides(decoder):
        found = transform_gates.gates(words.composition, layers, words.ids[4:])
        for name, values in found.items():
            row, numbers = rows.pop((side, name)), values.detach().double().numpy().ravel()
            low = np.sort(numbers)[(numbers.size - 1) // 2]  # PyTorch's median
            expected = numbers.mean(), low, (numbers > 0.5).mean()
            assert (row["mean"], row["median"], row["share over 0.5"]) == pytest.approx(expected)
    assert not rows
    vectors = principal_components.sides(trained)
    for row, (_, explained) in principal_components.study(trained):
        of_words = principal_components.explained_variance(vectors.pop(row["side"])[4:])
        assert explained == pytest.approx(of_words.tolist())
    assert not vectors


def test_a_density_has_an_area_of_one(trained):
    for _, (centres, density) in transform_gates.study(trained):
        assert sum(density) / len(centres) == pytest.approx(1)


@pytest.mark.parametrize("study", ["principal-components", "transform-gates"])
def test_the_plot_is_drawn_and_leaves_the_output_to_the_table(run, study, tmp_path, capsys, caplog):
    pytest.importorskip("matplotlib")
    caplog.set_level(logging.NOTSET, "matplotlib")
    caplog.set_level(logging.DEBUG)  # as importing fairseq does
    caplog.clear()
    run(study, "mine/checkpoint_best.pt", "--plot", tmp_path / "plot.svg")
    said = capsys.readouterr()
    assert (tmp_path / "plot.svg").read_text().count("<svg") == 1
    assert all(line.startswith("|") for line in said.out.splitlines())
    assert said.err == f"{tmp_path / 'plot.svg'}\n"
    assert "matplotlib" not in caplog.text


def test_composed_rows_are_also_looked_at_before_a_projection_narrows_them(run, trained, capsys):
    run("principal-components", "mine/checkpoint_best.pt", "--json")
    rows = {row["side"]: row for row in json.loads(capsys.readouterr().out)}
    assert "seed" not in rows["input"]  # no run of a recipe
    assert {side: row["dimensions"] for side, row in rows.items()} == {
        "input": 6, "output": 8, "output before projection": 6,
    }  # fmt: skip
    output = trained.output_layer
    vectors = principal_components.sides(trained)
    projected = vectors["output before projection"] @ output.projection.weight.T
    torch.testing.assert_close(projected, output.class_embeddings())
