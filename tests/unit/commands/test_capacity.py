"""Capacities and parameter counts, against the figures of Pappas et al. (2018)."""

import re

import pytest

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.analysis.capacity import CAPACITIES, ModelFactory, Sizes, joint_dim_bounds
from fairseq_outlayers.output_layers import OUTPUT_LAYERS

V = 1000  # no figure below depends on it


@pytest.fixture(scope="module")
def factory():
    """Models of the paper's sizes: 2+2 layers, 512 dimensions."""
    return ModelFactory(Sizes(V, 512, 512), V, layers=2)


def rows(output):
    """Columns of the printed table, by output layer and d_j."""
    body = output.split("---\n")[1].split("\n\n")[0]
    found = {}
    for row in body.splitlines():
        name, *cells = row.split()
        with_joint_dim = name == "joint"
        found[name, cells.pop(0) if with_joint_dim else ""] = cells
    return found


@pytest.mark.parametrize(
    ("joint_dim", "difference"), [(512, 525_312), (2048, 2_101_248), (4096, 4_202_496)]
)
def test_joint_has_as_many_parameters_more_than_tied_as_published(factory, joint_dim, difference):
    joint, tied = factory.counts("joint", joint_dim=joint_dim), factory.counts("tied")
    assert joint.output_layer - tied.output_layer == difference
    assert joint.whole - tied.whole == difference


def test_the_core_and_one_more_layer_are_as_large_as_published(factory):
    core = factory.counts("tied").core
    assert core == 10_240_000
    deeper = ModelFactory(Sizes(V, 512, 512), V, layers=3).counts("tied")
    assert deeper.core - core == 4_202_496


def test_parameters_add_up_to_the_whole_model():
    counts = ModelFactory(Sizes(50, 6, 8), 70, layers=1).counts("linear")
    assert counts.embeddings == 50 * 6 + 70 * 6
    assert counts.output_layer == 50 * 8 + 50
    encoder = 4 * 8 * (6 + 8 + 2)  # weights and two biases of every gate
    decoder = 4 * 8 * (6 + 8 + 8 + 2)  # input feeding
    attention = 8 * 8 + 8 * 16
    assert counts.core == encoder + decoder + attention
    assert counts.whole == counts.embeddings + counts.output_layer + counts.core


@pytest.mark.parametrize("joint_dim", [3, 500])
def test_a_layer_has_its_capacity_and_the_inner_biases(joint_dim):
    sizes = Sizes(900, 64, 64)
    inner_biases = {"linear": 0, "tied": 0, "bilinear": 0, "joint": 2 * joint_dim}
    assert set(inner_biases) == set(CAPACITIES)
    for name, biases in inner_biases.items():
        options = {"joint_dim": joint_dim} if name == "joint" else {}
        counts = ModelFactory(sizes, 5, layers=1).counts(name, **options)
        assert counts.output_layer == CAPACITIES[name](sizes, joint_dim) + biases


@pytest.mark.parametrize(
    "sizes", [Sizes(32000, 512, 512), Sizes(101, 7, 5), Sizes(10, 9, 30), Sizes(9, 9, 9)]
)
def test_the_bounds_are_the_smallest_and_the_largest_joint_dim_in_between(sizes):
    bilinear, base = CAPACITIES["bilinear"](sizes, 0), CAPACITIES["linear"](sizes, 0)
    inside = [j for j in range(1, 20000) if bilinear <= CAPACITIES["joint"](sizes, j) <= base]
    assert joint_dim_bounds(sizes) == ((inside[0], inside[-1]) if inside else None)


def test_there_are_no_bounds_with_fewer_classes_than_dimensions():
    assert joint_dim_bounds(Sizes(8, 9, 9)) is None


def test_the_command_prints_every_output_layer_and_every_joint_dim(capsys):
    assert main(["capacity", "--num-classes=32000", "--joint-dim", "100", "512", "40000"]) == 0
    output = capsys.readouterr().out
    found = rows(output)
    of_sizes = {name for name, layer in OUTPUT_LAYERS.items() if not layer.depends_on_words}
    assert {name for name, _ in found} == of_sizes
    assert "not shown, they depend on the words: subword, external_joint" in output
    assert found["linear", ""][:2] == ["16,416,000", "16,416,000"]
    assert found["tied", ""] == ["32,000", "32,000", "43,040,000"]
    assert found["joint", "512"] == ["556,288", "557,312", "43,565,312"]
    assert found["joint", "100"][-1] == found["joint", "40,000"][-1] == "outside"
    assert "holds for 256 <= d_j <= 16,000" in output


def test_a_layer_that_cannot_be_built_is_named_with_the_reason(capsys):
    sizes = ["--num-classes=50", "--source-classes=70", "--embed-dim=6", "--hidden-size=8"]
    main(["capacity", *sizes])
    output = capsys.readouterr().out
    assert ("tied", "") not in rows(output)
    assert re.search(r"not built: --output-layer tied .* 6 dimensions and the states 8", output)
    assert "720 in the embeddings" in output


@pytest.mark.parametrize("number", ["4", "0", "-3", "many", "1.5"])
def test_numbers_without_meaning_are_refused(number, capsys):
    with pytest.raises(SystemExit):
        main(["capacity", f"--num-classes={number}"])
    assert f"{number}: must be a whole number, 5 or more" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["10000001", "99999999999999999999"])
def test_more_classes_than_any_dictionary_has_are_refused(number, capsys):
    with pytest.raises(SystemExit):
        main(["capacity", f"--num-classes={number}"])
    assert f"{number}: must be at most 10,000,000" in capsys.readouterr().err
