"""How the batches of a partition are dealt out to processes and updates."""

from collections import Counter
from itertools import chain

import pytest

from fairseq_outlayers.partitions.batches import divide

BATCHES = [[3, 1, 4], [5, 9], [2, 6, 8, 7, 0]]


@pytest.mark.parametrize("granule", range(1, 12))
def test_batches_are_halved_until_their_number_is_a_multiple(granule):
    divided = divide(BATCHES, granule)
    assert len(divided) % granule == 0
    assert all(divided)
    found = Counter(chain(*divided))
    assert set(found) == set(chain(*BATCHES))
    # Ten sentences make no more than ten batches: one is repeated only where they do not suffice.
    assert max(found.values()) == (2 if granule == 11 else 1)


@pytest.mark.parametrize("sentences", [1, 2, 3])
def test_a_partition_of_few_sentences_repeats_them_in_turn_and_has_no_empty_batch(sentences):
    divided = divide([list(range(sentences))], 8)
    assert len(divided) == 8
    assert all(len(batch) == 1 for batch in divided)
    times = Counter(chain(*divided)).values()
    assert max(times) - min(times) <= 1


def test_no_sentences_make_no_batches():
    assert divide([], 4) == []
