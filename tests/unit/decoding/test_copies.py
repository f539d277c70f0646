"""Source words that the target dictionary spells alike are candidates, where it is asked for."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.data import Dictionary

from fairseq_outlayers.decoding.candidates import SCOPES
from fairseq_outlayers.decoding.copies import copies_of
from fairseq_outlayers.errors import UserError
from tests.conftest import make_batch
from tests.unit.decoding.test_search import models_of

FREQUENT, PER_WORD = 6, 2


def make_dictionary(*words):
    dictionary = Dictionary()
    for number, word in enumerate(words):
        dictionary.add_symbol(word, n=len(words) - number)
    return dictionary


def expected_list(lists, source, blocked=()):
    """``</s>``, ``<unk>``, the K - 2 first words, K' translations and the copies, by spelling.

    The test's dictionaries both have words w0, w1, ..., the target's more of them.
    """
    rows = lists.translations
    allowed = {2, 3} | {k for k in range(4, 40) if k not in blocked and k < 4 + FREQUENT - 2}
    for token in source:
        start, end = rows.offsets[token], rows.offsets[token + 1]
        allowed |= set(rows.targets[start:end][:PER_WORD].tolist())
        allowed |= {token} - set(blocked) if token > 3 else set()
    return allowed


@pytest.mark.parametrize("scope", SCOPES)
def test_hypotheses_and_lists_have_the_copies_of_a_sentence_s_words(
    scope, make_task, decode, write_candidates
):
    blocked = (9,)
    frequent = 30 if scope == "common" else FREQUENT
    task = make_task(candidates=write_candidates(blocked), candidate_frequent=frequent,
                     candidate_per_word=PER_WORD, candidate_scope=scope,
                     candidate_copies=True)  # fmt: skip
    models = models_of(task)
    batch = make_batch(task, [(5, 4), (7, 3), (3, 6)])
    found = decode(task, models, batch)
    lists = task.candidate_lists
    candidates = lists.of(batch["net_input"]["src_tokens"])
    union = set()
    for row, tokens in enumerate(batch["net_input"]["src_tokens"].tolist()):
        expected = expected_list(lists, tokens, blocked)
        union |= expected
        if scope == "sentence":
            assert set(candidates.ids[candidates.allowed[row]].tolist()) - {0, 1} == expected
            for hypothesis in found[row]:
                assert set(hypothesis["tokens"].tolist()) <= expected
    if scope == "batch":
        assert set(candidates.ids.tolist()) - {0, 1} == union
    if scope == "common":
        # </s>, <unk>, translations and copies, then the most frequent words until K are listed.
        translations = union - set(range(4, 4 + FREQUENT - 2))
        listed = set(candidates.ids.tolist()) - {0, 1}
        assert listed >= union
        assert len(listed) == frequent
        others = sorted(listed - translations - {2, 3})
        assert others == [k for k in range(4, 40) if k in listed and k not in translations]


def test_without_a_file_copies_join_the_most_frequent_words(make_task):
    task = make_task(candidate_frequent=4, candidate_copies=True)
    lists = task.build_generator(models_of(task), SimpleNamespace()).candidates
    found = lists.of(torch.tensor([[1, 9, 12, 2], [7, 7, 3, 2]]))
    rows = [set(found.ids[allowed].tolist()) - {0, 1} for allowed in found.allowed]
    assert rows == [{2, 3, 4, 5, 9, 12}, {2, 3, 4, 5, 7}]


def test_a_copy_is_the_word_of_the_same_spelling_whatever_its_number():
    source = make_dictionary("Haus", "Bonn", "1984", "madeupword0000")
    target = make_dictionary("1984", "house", "Bonn", "madeupword0000")
    eos = target.eos()
    assert copies_of(source, target).tolist() == [eos] * 5 + [6, 4, eos]


def test_words_that_a_dictionary_has_learnt_later_are_copies_of_nothing(make_task):
    task = make_task(candidate_frequent=4, candidate_copies=True)
    lists = task.build_generator(models_of(task), SimpleNamespace()).candidates
    first = len(task.source_dictionary)
    assert lists.of_words(torch.tensor([[first, first + 3, 8]])).tolist() == [[[2], [2], [8]]]


def test_copies_make_no_hypothesis_depend_on_the_batch(make_task, decode):
    task = make_task(candidate_frequent=7, candidate_copies=True)
    models = models_of(task)
    batch = make_batch(task, [(5, 4), (7, 3), (3, 6)])
    together = decode(task, models, batch)
    for row in range(3):
        inputs = {name: value[[row]] for name, value in batch["net_input"].items()}
        (alone,) = decode(task, models, {"net_input": inputs, "id": batch["id"][[row]]})
        assert [h["tokens"].tolist() for h in alone] == [
            h["tokens"].tolist() for h in together[row]
        ]


def test_copies_of_no_list_are_refused(make_task):
    with pytest.raises(UserError, match="--candidate-copies has no effect without --cand"):
        make_task(candidate_copies=True).build_generator([], SimpleNamespace())


def test_dictionaries_without_a_word_in_common_are_refused():
    with pytest.raises(UserError, match="--candidate-copies: the source and the target dictionary"):
        copies_of(make_dictionary("Haus"), make_dictionary("house"))
