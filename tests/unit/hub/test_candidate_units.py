"""Candidates behave as the list of their units."""

import copy
import pickle
from collections.abc import Sequence

import pytest
import torch

from fairseq_outlayers import load
from fairseq_outlayers.hub.candidate_units import CandidateUnits
from tests.conftest import make_dictionary
from tests.unit.hub.conftest import save_checkpoint

WORDS = ["<unk>", "w0", "w3", "w7"]


@pytest.fixture
def units():
    dictionary = make_dictionary(9)
    ids = [dictionary.index(word) for word in WORDS]
    return CandidateUnits.of_dictionary(
        dictionary, torch.tensor([dictionary.pad(), dictionary.eos(), *ids])
    )


def test_the_units_are_those_of_the_ids_without_the_end_and_padding(units):
    assert list(units) == WORDS
    assert len(units) == 4
    assert isinstance(units, Sequence)


def test_they_are_read_as_a_list_is(units):
    for place in range(-4, 4):
        assert units[place] == WORDS[place]
    for part in (slice(1, 3), slice(None, None, -1), slice(-2, None), slice(9, 12)):
        assert units[part] == WORDS[part]
    for place in (4, -5):
        with pytest.raises(IndexError):
            units[place]
    assert "w3" in units
    assert "w4" not in units
    assert units.index("w7") == 3
    assert list(reversed(units)) == WORDS[::-1]


def test_they_equal_lists_of_the_same_units_and_no_others(units):
    assert units == WORDS
    assert list(WORDS) == units
    assert units == copy.deepcopy(units)
    for other in (WORDS[:3], [*WORDS[:3], "w8"], WORDS[::-1], "w0", None):
        assert units != other
    with pytest.raises(TypeError, match="unhashable"):
        hash(units)


def test_a_pickle_has_the_units_alone():
    dictionary = make_dictionary(50_000)
    units = CandidateUnits.of_dictionary(dictionary, torch.tensor([3, 7, 50_000]))
    stored = pickle.dumps(units)
    assert len(stored) < 2000
    assert pickle.loads(stored) == ["<unk>", dictionary[7], dictionary[50_000]]


def test_words_added_to_the_dictionary_later_are_no_candidates():
    dictionary = make_dictionary(9)
    units = CandidateUnits.of_dictionary(dictionary, torch.arange(len(dictionary)))
    before = list(units)
    dictionary.add_symbol("new")
    assert units == before
    assert "new" not in units


def test_the_representation_is_short():
    many = CandidateUnits.of_dictionary(make_dictionary(2000), torch.arange(3, 2004))
    assert repr(many) == "<2,001 candidates: ['<unk>', 'w0', 'w1', 'w2', 'w3', 'w4', ...]>"


def test_a_translation_builds_no_list_of_its_candidates(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"), candidate_frequent=7)
    for found in model.translate(["w1 w2", ""]):
        assert isinstance(found.candidates, CandidateUnits)
        assert pickle.loads(pickle.dumps(found)).candidates == found.candidates
