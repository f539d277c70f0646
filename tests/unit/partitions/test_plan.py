"""Partitions against a walk over sets of words."""

import numpy as np
import pytest

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.partitions.plan import Side, Text, Words, partition

SPECIALS = range(4)


def random_side(seed, limit, num_words=300, sentences=800, name="target"):
    """Sentences of 1 to 11 words and their end, few words frequent, many rare."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 12, sentences)
    rows = [
        np.append(np.minimum(4 + generator.geometric(0.02, length), num_words - 1), 2)
        for length in lengths
    ]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    tokens = np.concatenate(rows).astype(np.int32)
    return Side(Text(tokens, starts), num_words, limit, SPECIALS, name), rows


def walk(limited, order):
    """The paper's procedure with sets: close a partition before it has too many words."""
    bounds, seen = [0], [set(SPECIALS) for _ in limited]
    for place, sentence in enumerate(order):
        now = [
            words | set(rows[sentence].tolist())
            for words, (_, rows) in zip(seen, limited, strict=True)
        ]
        if any(len(words) > side.limit for words, (side, _) in zip(now, limited, strict=True)):
            bounds.append(place)
            now = [set(SPECIALS) | set(rows[sentence].tolist()) for _, rows in limited]
        seen = now
    return [*bounds, len(order)]


@pytest.mark.parametrize("limit", [17, 40, 120, 299, 5000])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("sides", [1, 2])
def test_partitions_are_those_of_a_walk_with_sets(limit, shuffled, sides):
    limited = [random_side(1, limit), random_side(2, 35, num_words=90, name="source")][:sides]
    generator = np.random.default_rng(3)
    order = generator.permutation(800) if shuffled else np.flatnonzero(generator.random(800) < 0.9)
    found = partition([side for side, _ in limited], order)
    assert found.tolist() == walk(limited, order)
    assert limit >= 299 or len(found) > 4


def test_a_sentence_with_too_many_words_is_named():
    side, rows = random_side(1, 9)
    first = next(n for n, row in enumerate(rows) if len(set(row)) + 3 > 9)
    message = f"sentence {first + 1} of .* has {len(set(rows[first])) + 3} distinct target words"
    with pytest.raises(UserError, match=f"{message}.* may have only 9: .*--partition-size"):
        partition([side], np.arange(800))


def test_the_words_of_a_partition_are_those_of_its_sentences_and_the_specials():
    side, rows = random_side(1, 60)
    order = np.random.default_rng(3).permutation(800)
    bounds = partition([side], order)
    words = Words(side, order, bounds, keep_full=False)
    for number in range(len(bounds) - 1):
        sentences = order[bounds[number] : bounds[number + 1]]
        expected = set(SPECIALS).union(*(rows[sentence].tolist() for sentence in sentences))
        assert words.of(number).tolist() == sorted(expected)
        assert len(expected) <= 60


def test_as_the_authors_have_it_a_partition_keeps_words_until_their_place_is_needed():
    side, _ = random_side(1, 60)
    order = np.arange(800)
    bounds = partition([side], order)
    words = Words(side, order, bounds, keep_full=True)
    before = set(range(60))
    for number in range(len(bounds) - 1):
        now = set(words.of(number).tolist())
        used = set(words.used(number).tolist())
        assert len(now) == 60
        assert used <= now <= before | used
        # The rarest words, with the highest ids, go first.
        left = before - now
        assert not left or min(left) > max((now - used) & before, default=0)
        before = now
    # Asked out of order, as when training is resumed, the words are the same.
    last = words.of(len(bounds) - 2).tolist()
    assert words.of(1).tolist() == Words(side, order, bounds, keep_full=True).of(1).tolist()
    assert words.of(len(bounds) - 2).tolist() == last


def test_a_limit_of_the_whole_dictionary_makes_one_partition_of_all_words():
    side, _ = random_side(1, 300)
    bounds = partition([side], np.arange(800))
    assert bounds.tolist() == [0, 800]
    for keep_full in (False, True):
        words = Words(side, np.arange(800), bounds, keep_full)
        assert words.of(0).tolist() == list(range(300))


@pytest.mark.parametrize(
    ("name", "option"), [("target", "--partition-size"), ("source", "--source-partition-size")]
)
def test_a_sentence_with_too_many_words_is_named_by_its_place_in_the_corpus(name, option):
    side, rows = random_side(1, 9, name=name)
    order = np.arange(800)[::-1]
    first = next(int(n) for n in order if len(set(rows[n])) + 3 > 9)
    said = f"^sentence {first + 1} of .* distinct {name} words.* choose a larger {option}$"
    with pytest.raises(UserError, match=said):
        partition([side], order)
