"""A run resumed within an epoch with another --update-freq trains on every batch left, once."""

import itertools

import pytest
from fairseq.data.iterators import CountingIterator, GroupedIterator

from fairseq_outlayers.errors import UserError

CASES = [
    (length, done, size)
    for length, size in itertools.product(range(1, 13), range(1, 5))
    for done in range(length)
]


def grouped(length, done, size, **more):
    """The epoch's iterator and its groups, as fairseq resumes within the epoch."""
    epoch = CountingIterator(range(done, length), start=done)
    assert len(epoch) == length
    return epoch, GroupedIterator(epoch, size, **more)


@pytest.mark.parametrize("skips", [False, True])
def test_the_groups_have_the_batches_left_and_end_the_epoch(skips):
    for length, done, size in CASES:
        if skips and done > 0 and length // size * size - done < size:
            with pytest.raises(UserError, match=f"{done} batches of its epoch, and fewer than"):
                grouped(length, done, size, skip_remainder_batch=True)
            continue
        epoch, groups = grouped(length, done, size, skip_remainder_batch=skips)
        start, end = groups.n, len(groups)
        found = list(groups)
        kept = length
        if skips:
            whole = length // size * size
            kept = done + max(whole - done, 0) // size * size
        assert list(itertools.chain(*found)) == list(range(done, kept)), (length, done, size)
        assert all(len(group) == size for group in found[:-1])
        assert (start, end - start) == (-(-done // size), len(found))
        assert not epoch.has_next(), (length, done, size)


@pytest.mark.parametrize("skips", [False, True])
def test_a_whole_epoch_and_a_multiple_of_the_groups_are_as_in_fairseq(skips):
    for length, done, size in CASES:
        if done % size == 0 and not (skips and done > 0 and done + size > length):
            _, groups = grouped(length, done, size, skip_remainder_batch=skips)
            assert len(groups) == (length // size if skips else -(-length // size))
