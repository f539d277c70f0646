"""Columns of a text: every word is read once, in order, with the state of the word before it."""

import copy
import itertools
import multiprocessing
import threading

import pytest
import torch
from fairseq.data.iterators import BackgroundConsumer

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.tasks.text_columns import ColumnIterator, ColumnWindows, TokenStream

EOS, PAD = 2, 1


def stream(length):
    return TokenStream(torch.arange(10, 10 + length), EOS, PAD)


def read(iterator):
    return list(iterator.next_epoch_itr(shuffle=False))


def iterators(length, rows, window, shards):
    return [
        ColumnIterator(ColumnWindows(stream(length), rows, window, shards, shard), num_workers=0)
        for shard in range(shards)
    ]


CUTS = list(itertools.product([17, 24, 25, 7], [1, 2, 3], [1, 4, 50], [1, 2]))


@pytest.mark.parametrize(("length", "rows", "window", "shards"), CUTS)
def test_columns_put_together_are_the_text_with_each_word_after_its_predecessor(
    length, rows, window, shards
):
    sources, targets, counts = [], [], []
    for iterator in iterators(length, rows, window, shards):
        batches = read(iterator)
        counts.append(len(batches))
        for row in range(rows):
            for batch in batches:
                target = batch["target"][row]
                sources += batch["net_input"]["src_tokens"][row][target != PAD].tolist()
                targets += target[target != PAD].tolist()
            assert all(batch["target"].size(1) <= window for batch in batches)
        assert all(batch["ntokens"] == (batch["target"] != PAD).sum() for batch in batches)
    assert targets == list(range(10, 10 + length))
    assert sources == [EOS, *targets[:-1]]
    assert len(set(counts)) == 1  # or workers would wait for each other forever


def test_batches_of_two_workers_are_the_batches_of_one_cut_in_two():
    (one,) = iterators(25, 4, 3, 1)
    two = iterators(25, 2, 3, 2)
    for whole, *halves in zip(read(one), *map(read, two), strict=True):
        lengths = [half["target"].size(1) for half in halves]
        if len(set(lengths)) == 1:
            assert torch.equal(torch.cat([half["target"] for half in halves]), whole["target"])
        assert sum(half["ntokens"] for half in halves) == whole["ntokens"]


def test_every_epoch_starts_without_a_state_and_carries_it_through_its_windows():
    (iterator,) = iterators(24, 2, 4, 1)
    for _ in range(2):
        batches = iterator.next_epoch_itr(shuffle=False)
        for number, batch in enumerate(batches):
            carried = batch["net_input"]["carried"]
            assert (carried.of(None) is None) == (number == 0)
            carried.carry(torch.full((1, 2, 2, 3), float(number)))
        assert len(batches) == number + 1 == 3


def test_a_window_that_is_trained_again_starts_where_it_started():
    """As fairseq does after an overflow with --amp; prefetched windows start where they should."""
    (iterator,) = iterators(24, 2, 4, 1)
    windows = [b["net_input"]["carried"] for b in iterator.next_epoch_itr(shuffle=False)]
    for number, carried in enumerate(windows):
        for _ in range(3):
            start = carried.of("model")
            assert start is None if number == 0 else start.eq(number).all()
            carried.carry(torch.full((1, 2, 2, 3), number + 1.0), "model")


def test_a_restored_iterator_goes_on_with_the_next_window_and_the_state_before_it():
    iterator, restored = (iterators(24, 2, 4, 1)[0] for _ in range(2))
    batches = iterator.next_epoch_itr(shuffle=False)
    next(batches)["net_input"]["carried"].carry(torch.full((1, 2, 2, 3), 7.0))
    state = copy.deepcopy(iterator.state_dict())
    expected = next(batches)
    restored.load_state_dict(state)
    batch = next(restored.next_epoch_itr(shuffle=False))
    assert torch.equal(batch["target"], expected["target"])
    assert batch["net_input"]["carried"].of(None).eq(7).all()
    assert len(read(restored)) == 3  # the epoch after it is whole again


def test_a_position_counted_in_other_windows_is_refused():
    iterator, restored = iterators(24, 2, 4, 1)[0], iterators(24, 2, 3, 1)[0]
    next(iterator.next_epoch_itr(shuffle=False))["net_input"]["carried"].carry(
        torch.zeros(1, 2, 2, 3)
    )
    state = iterator.state_dict()
    with pytest.raises(UserError, match=r"windows of 4 words, but --tokens-per-sample is 3"):
        restored.load_state_dict(state)


@pytest.mark.parametrize("other", [torch.arange(11, 35), torch.arange(10, 35)])
def test_a_state_before_the_words_of_another_text_is_refused(other):
    (iterator,) = iterators(24, 2, 4, 1)
    windows = ColumnWindows(TokenStream(other, EOS, PAD), 2, 4)
    restored = ColumnIterator(windows, num_workers=0)
    next(iterator.next_epoch_itr(shuffle=False))["net_input"]["carried"].carry(
        torch.zeros(1, 2, 2, 3)
    )
    state = iterator.state_dict()
    with pytest.raises(UserError, match="within an epoch of another text"):
        restored.load_state_dict(state)
    del state["text"]  # a checkpoint without it loads as before
    restored.load_state_dict(state)


def test_at_the_end_of_an_epoch_no_state_is_saved():
    (iterator,) = iterators(24, 2, 4, 1)
    for batch in iterator.next_epoch_itr(shuffle=False):
        batch["net_input"]["carried"].carry(torch.zeros(1, 2, 2, 3))
    state = iterator.state_dict()
    assert (state["epoch"], state["iterations_in_epoch"]) == (2, 0)
    assert "carried" not in state


def test_every_worker_takes_its_own_columns_from_a_saved_state():
    saved = torch.arange(4.0).view(1, 1, 4, 1).expand(1, 2, 4, 3)
    for shard, iterator in enumerate(iterators(24, 2, 4, 2)):
        mine = iterator.dataset.rows_of(saved)
        assert mine[0, 0, :, 0].tolist() == [2 * shard, 2 * shard + 1]
    with pytest.raises(UserError, match=r"4 columns of text.* --batch-size 3 .* makes 3"):
        iterators(24, 3, 4, 1)[0].dataset.rows_of(saved)


def test_more_columns_than_words_are_refused():
    with pytest.raises(UserError, match=r"--batch-size 4 on 2 process.* the valid text into 8 col"):
        ColumnWindows(stream(7), 4, 35, 2, 0, "valid text")
    assert len(ColumnWindows(stream(8), 4, 35, 2, 0, "valid text")) == 4


def test_no_worker_outlives_its_epoch(monkeypatch):
    """A worker that the loader keeps would idle until the end of the training, one per epoch."""
    monkeypatch.setenv("PYTHONWARNINGS", "")  # fairseq sets it, and commands would inherit it
    batches = ColumnIterator(ColumnWindows(stream(40), 2, 5), num_workers=1, buffer_size=2)
    for _ in range(3):
        assert len(list(batches.next_epoch_itr(shuffle=False))) == 4
        for thread in threading.enumerate():
            if isinstance(thread, BackgroundConsumer):
                thread.join()
        assert multiprocessing.active_children() == []
