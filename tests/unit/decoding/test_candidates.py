"""Forced words; and the common list: its size, what stays on it, and when it begins anew."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairseq_outlayers.decoding.candidate_options import build_lists
from fairseq_outlayers.decoding.candidates import CommonList
from fairseq_outlayers.decoding.translations import Translations
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import fingerprint
from tests.conftest import make_dictionary
from tests.unit.decoding.test_search import models_of

BEGINNING = [0, 1, 2, 3]  # <s> and padding have a place on every list, but no score
A, B, C = 4, 5, 6  # source words, each with two rare translations
TRANSLATIONS = {A: [30, 31], B: [32, 33], C: [4, 34]}


@pytest.fixture
def common():
    """A list of K = 7: five words beside </s> and <unk>."""
    rows = [TRANSLATIONS.get(word, []) for word in range(8)]
    offsets = torch.tensor([0, *map(len, rows)]).cumsum(0)
    targets = torch.tensor([target for row in rows for target in row])
    nothing = torch.zeros(0, dtype=torch.long)
    return CommonList(make_dictionary(40), Translations(offsets, targets, nothing, 2), 7, 2)


def words(common, *source, sentences=1):
    found = common.of(torch.tensor([list(source)] * sentences))
    assert found.allowed is None
    assert found.ids[:4].tolist() == BEGINNING
    return found.ids[4:].tolist()


def test_translations_take_the_places_of_the_least_frequent_words(common):
    assert words(common, 7) == [4, 5, 6, 7, 8]
    assert words(common, A) == [4, 5, 6, 30, 31]


def test_translations_of_earlier_sentences_stay_until_the_list_is_full(common):
    words(common, A)
    assert words(common, B) == [4, 30, 31, 32, 33]
    assert words(common, C) == [4, 5, 6, 7, 34]  # 30 to 33 with 4 and 34 would be six
    assert common.sentences == 1


def test_the_list_begins_anew_after_a_hundred_sentences(common):
    words(common, A, sentences=60)
    assert words(common, C, sentences=40) == [4, 5, 30, 31, 34]
    assert words(common, 7) == [4, 5, 6, 7, 8]  # though the former list would fit
    assert words(common, B) == [4, 5, 6, 32, 33]
    assert words(common, A) == [4, 30, 31, 32, 33]  # not before the next hundred


def test_a_list_that_is_reset_begins_anew(common):
    first = words(common, A)
    words(common, B)
    common.reset()
    assert words(common, A) == first


@pytest.mark.parametrize("begin", ["a validation", "a search"])
def test_each_validation_and_each_search_begins_with_a_new_list(make_task, begin):
    """Or a resumed training would validate with other lists than an uninterrupted one."""
    task = make_task(candidate_frequent=9, candidate_scope="common")
    (model,), options = models_of(task, 1, "luong_lstm"), SimpleNamespace(beam=2, max_len_b=6)
    task.sequence_generator = task.build_generator([model], options)
    lists = task.candidate_lists
    lists.wanted, lists.sentences = torch.ones(lists.num_classes, dtype=torch.bool), 7
    if begin == "a search":
        task.build_generator([model], options)
    else:
        task.begin_valid_epoch(2, model)
    assert task.candidate_lists is lists
    assert (len(lists.wanted), lists.sentences) == (0, 0)


def test_a_batch_that_does_not_fit_is_refused(common):
    with pytest.raises(UserError, match="the 6 translations of one batch do not fit into a list"):
        words(common, A, B, C)


def test_a_file_of_a_million_translations_loads_within_five_seconds(tmp_path):
    words, per_word = 50_000, 20
    dictionary = make_dictionary(words)
    np.savez_compressed(
        tmp_path / "candidates.npz",
        format=1,
        per_word=per_word,
        source_fingerprint=fingerprint(dictionary),
        target_fingerprint=fingerprint(dictionary),
        offsets=np.maximum(np.arange(words + 5) - 4, 0) * per_word,
        targets=np.random.default_rng(1).integers(4, words, words * per_word, dtype=np.int32),
        blocked=np.zeros(0, dtype=np.int32),
    )
    began = time.process_time()  # of this process alone: other programs do not count
    found = Translations.load(str(tmp_path / "candidates.npz"), dictionary, dictionary)
    assert time.process_time() - began < 5
    assert len(found.targets) == 1_000_000


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"offsets": lambda o: o - 1}, "do not increase from 0"),
        ({"offsets": lambda o: o[::-1].copy()}, "do not increase from 0"),
        ({"offsets": lambda o: o * 1000}, "do not increase from 0"),
        ({"offsets": lambda o: o[:-1]}, "offsets for"),
        ({"offsets": lambda o: o.astype(float)}, "not a vector of integers"),
        ({"targets": lambda t: t - 1000}, "targets from -"),
        ({"targets": lambda t: t + 1000}, "targets from 1"),
        ({"blocked": lambda b: np.array([-1])}, "blocked from -1 to -1"),
        ({"per_word": lambda p: 1}, "translations, but at most 1 are allowed"),
        ({"per_word": lambda p: np.array([4, 4])}, "not a candidate file"),
    ],
)
def test_arrays_that_contradict_the_format_are_refused_though_their_checksums_are_right(
    write_candidates, dictionaries, arrays, message
):
    path = write_candidates()
    with np.load(path) as file:
        written = {name: file[name] for name in file.files}
    Translations.load(path, *dictionaries)
    np.savez(path, **{**written, **{name: make(written[name]) for name, make in arrays.items()}})
    with pytest.raises(UserError, match=message):
        Translations.load(path, *dictionaries)


def test_a_small_file_that_expands_to_gigabytes_is_refused_unread(tmp_path, dictionaries):
    path = tmp_path / "candidates.npz"
    np.savez_compressed(path, targets=np.zeros(200_000_000, np.int8))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(UserError, match="not a candidate file"):
        Translations.load(str(path), *dictionaries)


@pytest.mark.parametrize("scope", ["sentence", "batch"])
def test_a_beginning_that_is_forced_on_one_sentence_is_open_to_it_alone(scope, make_task):
    task = make_task(candidate_frequent=8, candidate_scope=scope)
    lists = build_lists(task.cfg, task.source_dictionary, task.target_dictionary)
    bos = task.target_dictionary.bos()
    found = lists.of(torch.tensor([[4, 2], [5, 2]]), torch.tensor([[bos], [30]]))
    assert bos not in found.closed
    if scope == "sentence":
        assert found.allowed[:, bos].tolist() == [True, False]
        assert found.allowed[:, found.ids == 30].tolist() == [[False], [True]]
    else:
        assert found.allowed is None


@pytest.mark.parametrize(
    ("blocked", "exception"), [((), ""), ((20, 21), "except the 2 blocked ones ")]
)
def test_a_list_of_all_words_is_said(make_task, write_candidates, caplog, blocked, exception):
    options = {"candidates": write_candidates(blocked=blocked), "candidate_per_word": 2}
    task = make_task(candidate_frequent=1000, **options)
    build_lists(task.cfg, task.source_dictionary, task.target_dictionary)
    assert caplog.messages[-1] == (
        f"--candidate-frequent 1000: the target dictionary has only {len(task.target_dictionary)} "
        f"words, so that all of them {exception}are candidates of every sentence"
    )


def test_a_blocked_word_that_a_prefix_forces_stays_out_of_the_common_list(
    make_task, write_candidates
):
    options = {"candidates": write_candidates(blocked=(20,)), "candidate_per_word": 2}
    task = make_task(candidate_frequent=20, candidate_scope="common", **options)
    lists = build_lists(task.cfg, task.source_dictionary, task.target_dictionary)
    source = torch.tensor([[4, 2]])
    assert 20 in lists.of(source, torch.tensor([[20]])).ids
    assert 20 not in lists.of(source).ids


def test_translations_may_fill_the_list_exactly(common):
    common.frequent = 6
    words(common, A)
    assert words(common, B) == [30, 31, 32, 33]
    common.reset()
    assert words(common, A, B) == [30, 31, 32, 33]
