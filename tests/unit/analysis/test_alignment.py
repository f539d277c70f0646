"""Matching in as few chunks as possible, against trying out every alignment."""

import random
from itertools import pairwise

import pytest

from fairseq_outlayers.analysis.alignment import align


def every_alignment(hypothesis, reference, position=0, taken=()):
    """Every one-to-one list of pairs (hypothesis position, reference position) of equal words."""
    if position == len(hypothesis):
        yield ()
        return
    yield from every_alignment(hypothesis, reference, position + 1, taken)
    for place, word in enumerate(reference):
        if word == hypothesis[position] and place not in taken:
            for rest in every_alignment(hypothesis, reference, position + 1, (*taken, place)):
                yield ((position, place), *rest)


def chunks(pairs):
    continued = [(i + 1, j + 1) == following for (i, j), following in pairwise(pairs)]
    return len(pairs) - sum(continued)


def by_trying_all(hypothesis, reference):
    """The most matches, and the fewest chunks among the alignments that have so many."""
    return max((len(pairs), -chunks(pairs)) for pairs in every_alignment(hypothesis, reference))


@pytest.mark.parametrize("words", ["a", "ab", "abc", "abcd"])
def test_no_other_alignment_has_more_matches_or_as_many_in_fewer_chunks(words):
    generator = random.Random(words)
    for _ in range(150):
        sentences = [generator.choices(words, k=generator.randint(0, 6)) for _ in range(2)]
        expected = by_trying_all(*sentences)
        found = align(*sentences, beam=10**6)
        assert (found.matches, -found.chunks) == expected, sentences


def test_taking_the_first_free_place_would_not_be_enough():
    # From left to right, the first "a" would take the place of the second: four chunks.
    assert align("acab", "abxac") == (4, 2)


def test_a_word_that_is_left_out_ends_a_chunk():
    assert align("axb", "ab").chunks == 2
    assert align("ab", "axb").chunks == 2


def test_sentences_without_a_common_word_have_neither_matches_nor_chunks():
    assert align(["a"], ["b"]) == (0, 0)
    assert align([], ["b"]) == (0, 0)
    assert align(["a"], []) == (0, 0)


def test_a_word_repeated_many_times_is_matched_in_the_fewest_chunks():
    assert align(["a"] * 60, ["a"] * 60) == (60, 1)
    assert align(["a"] * 60, ["a", "b"] * 3) == (3, 3)


def test_a_search_that_is_too_narrow_still_matches_every_word():
    generator = random.Random(1)
    sentences = [generator.choices("abc", k=12) for _ in range(2)]
    wide, narrow = align(*sentences), align(*sentences, beam=1)
    assert narrow.matches == wide.matches
    assert wide.chunks < narrow.chunks <= narrow.matches
