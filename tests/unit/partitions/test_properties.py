"""What holds of partitions, whatever the text, its order and the limits."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_outlayers.partitions.plan import Side, Text, Words, partition

NUM_WORDS = 40
ALWAYS = range(4)
MOST_IN_SENTENCE = 6


@st.composite
def texts(draw):
    """One or two limited sides of the same sentences, and an order of some of them."""
    sentences = draw(st.integers(1, 40))
    words = st.lists(st.integers(0, NUM_WORDS - 1), min_size=1, max_size=MOST_IN_SENTENCE)
    sides = []
    for name in draw(st.sampled_from([("target",), ("target", "source")])):
        rows = draw(st.lists(words, min_size=sentences, max_size=sentences))
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        limit = draw(st.integers(len(ALWAYS) + MOST_IN_SENTENCE, NUM_WORDS))
        text = Text(np.concatenate(rows).astype(np.int32), starts)
        sides.append((Side(text, NUM_WORDS, limit, ALWAYS, name), rows))
    order = draw(st.permutations(range(sentences)))
    return sides, np.array(order[: draw(st.integers(1, sentences))])


def words_of(rows, sentences):
    return set(ALWAYS).union(*(rows[sentence] for sentence in sentences))


@settings(max_examples=150, deadline=None)
@given(situation=texts())
def test_partitions_cover_the_order_within_every_limit_and_none_could_be_longer(situation):
    sides, order = situation
    bounds = partition([side for side, _ in sides], order)
    assert bounds[0] == 0
    assert bounds[-1] == len(order)
    assert (np.diff(bounds) > 0).all()
    for begin, end in pairwise(bounds):
        assert all(len(words_of(rows, order[begin:end])) <= side.limit for side, rows in sides)
        if end < len(order):
            longer = order[begin : end + 1]
            assert any(len(words_of(rows, longer)) > side.limit for side, rows in sides)


@settings(max_examples=100, deadline=None)
@given(situation=texts())
def test_the_words_of_a_partition_are_those_of_its_sentences_and_those_always_there(situation):
    sides, order = situation
    bounds = partition([side for side, _ in sides], order)
    for side, rows in sides:
        words = Words(side, order, bounds, keep_full=False)
        for number, (begin, end) in enumerate(pairwise(bounds)):
            expected = words_of(rows, order[begin:end])
            if side.limit == NUM_WORDS:  # all words fit at once
                expected = set(range(NUM_WORDS))
            assert words.of(number).tolist() == sorted(expected)
