"""Compositions against loops over units, with padding that must not count."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from fairseq_outlayers.compositions import COMPOSITION, COMPOSITIONS
from fairseq_outlayers.compositions.sylconcat import all_places
from fairseq_outlayers.compositions.units import number_units

WORDS = [["un", "believ", "able"], ["able"], ["believ", "er", "s", "un"], ["s", "s"]]
DEFAULTS = {name: option.default for name, option in COMPOSITION.options().items()}
SIZES = {**DEFAULTS, "unit_dim": 3, "highway_dim": 4, "char_widths": 5, "char_filters": 2}


def make(name, rows=WORDS, **sizes):
    """A composition with random layers, and the units of some words."""
    torch.manual_seed(0)
    units = number_units(rows)
    config = SimpleNamespace(**{**SIZES, **sizes})
    composition = COMPOSITIONS[name].build(config, units, hidden_size=6)
    parts = composition.build_parts(composition.all_parts())
    for part in parts.values():
        part.double()
        for parameter in part.parameters():
            torch.nn.init.normal_(parameter)
    return composition, parts, units.ids


def combine(composition, parts, ids):
    return composition.combine(parts, composition.prepare(ids))


def compose(composition, parts, ids):
    return composition.compose(parts, composition.prepare(ids))


def test_units_are_numbered_from_one_and_rows_are_filled_up_with_zeros():
    units = number_units(WORDS)
    assert units.ids.tolist() == [[1, 2, 3, 0], [3, 0, 0, 0], [2, 4, 5, 1], [5, 5, 0, 0]]
    assert units.symbols == ["un", "believ", "able", "er", "s"]
    assert (units.num_units, units.longest) == (5, 4)


def test_morphsum_adds_up_the_vectors_of_the_units():
    composition, parts, ids = make("morphsum")
    weight = parts["emb"].weight
    for row, combined in zip(ids, combine(composition, parts, ids), strict=True):
        expected = sum(weight[unit - 1] for unit in row if unit)
        torch.testing.assert_close(combined, expected)


def test_sylconcat_projects_the_vectors_side_by_side():
    composition, parts, ids = make("sylconcat")
    weight, projection = parts["emb"].weight, parts["proj"].weight
    for row, combined in zip(ids, combine(composition, parts, ids), strict=True):
        expected = sum(
            projection[:, 3 * place : 3 * place + 3] @ weight[unit - 1]
            for place, unit in enumerate(row)
            if unit
        )
        torch.testing.assert_close(combined, expected)


def side_by_side(parts, ids):
    """The projection of concatenated syllables, a row for every word."""
    return parts["proj"](parts["emb"](ids).flatten(1))


def test_sylconcat_projects_what_words_share_only_once():
    rows = [["a", "b"], ["c", "b"], ["a"], ["b", "a", "c"], ["c", "b", "c"]]
    composition, parts, ids = make("sylconcat", rows)
    assert composition.prepare_all(ids).sizes == [3, 2, 1]
    layers = [parts["emb"].weight, parts["proj"].weight]
    like = torch.randn(5, 4, dtype=torch.float64)
    expected = torch.autograd.grad(side_by_side(parts, ids), layers, like)
    for prepared in (composition.prepare_all(ids), all_places(ids)):  # the latter on accelerators
        found = torch.autograd.grad(composition.combine(parts, prepared), layers, like)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other)


def test_sylconcat_sums_gradients_of_shared_syllables_in_float32_under_autocast():
    rows = [["a", f"x{number}"] for number in range(4000)]
    composition, parts, ids = make("sylconcat", rows)
    for part in parts.values():
        part.float()
    prepared, weight = composition.prepare_all(ids), parts["emb"].weight
    like = torch.rand(4000, 4, generator=torch.Generator().manual_seed(1)) + 0.5
    (expected,) = torch.autograd.grad(side_by_side(parts, ids), [weight], like)
    with torch.autocast("cpu", torch.bfloat16):
        combined = composition.combine(parts, prepared)
    (found,) = torch.autograd.grad(combined, [weight], like.to(combined.dtype))
    error = (found[0] - expected[0]).norm() / expected[0].norm()  # of "a", in every word
    assert error < 0.02


def naive_charcnn(parts, row, masked):
    """Triple loop: filters, windows, positions within a window; padding is a zero vector."""
    vectors = [parts["emb"].weight[unit - 1] if unit else torch.zeros(3).double() for unit in row]
    length = int((row != 0).sum())
    features = []
    for width, convolution in enumerate(parts["cnn"].convolutions, start=1):
        for kernel, bias in zip(convolution.weight, convolution.bias, strict=True):
            responses = []
            for start in range(len(vectors) - width + 1):
                if masked and start > 0 and start + width > length:
                    continue
                response = bias.clone()
                for offset in range(width):
                    response = response + kernel[:, offset] @ vectors[start + offset]
                responses.append(torch.tanh(response))
            features.append(max(responses))
    return torch.stack(features)


@pytest.mark.parametrize("masked", [False, True], ids=["as in the paper", "masked"])
def test_charcnn_equals_the_triple_loop(masked):
    rows = [list("<s>word<e>"), list("<s>a<e>"), list("abcdef")]
    composition, parts, ids = make("charcnn", rows, mask_char_padding=masked)
    combined = combine(composition, parts, ids)
    assert combined.shape == (3, sum([2, 4, 6, 8, 10]))
    naive = torch.stack([naive_charcnn(parts, row, masked) for row in ids])
    torch.testing.assert_close(combined, naive)
    weights = [*parts["emb"].parameters(), *parts["cnn"].parameters()]
    upstream = torch.randn_like(naive)
    for found, expected in zip(
        torch.autograd.grad(combined, weights, upstream),
        torch.autograd.grad(naive, weights, upstream),
        strict=True,
    ):
        torch.testing.assert_close(found, expected)


def test_charcnn_under_bfloat16_autocast_is_close_to_full_precision():
    composition, parts, ids = make("charcnn", [list("<word>"), list("<a>")])
    expected = combine(composition, parts, ids)
    for part in parts.values():
        part.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        combined = combine(composition, parts, ids)
    combined.sum().backward()
    torch.testing.assert_close(combined.double(), expected, atol=0.03, rtol=0.03)


def test_words_shorter_than_the_widest_filter_have_features():
    composition, parts, ids = make("charcnn", [["a", "b"], ["c"]], mask_char_padding=True)
    assert combine(composition, parts, ids).shape == (2, 2 + 4 + 6 + 8 + 10)


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_no_words_have_no_vectors(name):
    composition, parts, ids = make(name)
    nothing = compose(composition, parts, ids[:0])
    nothing.sum().backward()
    assert nothing.shape == (0, composition.output_size)


@pytest.mark.parametrize(
    ("name", "sizes"), [("morphsum", {}), ("sylconcat", {}), ("charcnn", {"mask_char_padding": 1})]
)
def test_more_padding_changes_no_vector(name, sizes):
    composition, parts, ids = make(name, **sizes)
    expected = compose(composition, parts, ids)
    if name == "sylconcat":  # its projection has a place for every unit that a word can have
        weight = parts["proj"].weight
        parts["proj"].weight = torch.nn.Parameter(F.pad(weight, (0, 6), value=7.0))
    padded = compose(composition, parts, F.pad(ids, (0, 2)))
    torch.testing.assert_close(padded, expected)


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_two_highway_layers_follow(name):
    composition, parts, ids = make(name)
    combined = combine(composition, parts, ids)
    expected = parts["hw2"](parts["hw1"](combined))
    torch.testing.assert_close(compose(composition, parts, ids), expected)
    assert combined.size(1) == composition.output_size


def test_the_sizes_of_the_paper_are_the_defaults():
    zeros = {"unit_dim": 0, "highway_dim": 0, "char_widths": 6, "char_filters": 25}
    sizes = {}
    for name in ("charcnn", "sylconcat", "morphsum"):
        composition, parts, _ = make(name, **zeros)
        sizes[name] = (parts["emb"].weight.size(1), composition.output_size)
    assert sizes == {"charcnn": (15, 525), "sylconcat": (50, 6), "morphsum": (6, 6)}
    medium, _, _ = make("charcnn", char_widths=7, char_filters=50, unit_dim=15)
    assert medium.output_size == 1100


def test_vectors_of_units_and_projections_start_at_a_scale_that_suits_their_width():
    """SylConcat's projection suits two or three syllables, the length of most words."""
    torch.manual_seed(0)
    units = number_units([[f"u{number}" for number in range(60)]])
    config = SimpleNamespace(**{**SIZES, "unit_dim": 100, "highway_dim": 40})
    for name, part, fan_in in (("morphsum", "emb", 100), ("sylconcat", "proj", 2.5 * 100)):
        composition = COMPOSITIONS[name].build(config, units, hidden_size=6)
        weight = composition.build_parts((part,))[part].weight
        assert weight.std().item() == pytest.approx(fan_in**-0.5, rel=0.05)
