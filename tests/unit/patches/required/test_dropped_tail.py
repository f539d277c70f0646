import numpy as np
import pytest
import torch
from fairseq.data import Dictionary, LanguagePairDataset, ListDataset, data_utils

from fairseq_outlayers.patches.replacing import MARK

STOCK = getattr(data_utils.batch_by_size, MARK, data_utils.batch_by_size)


def batches_of(sizes, function=None, **limits):
    indices = np.arange(len(sizes))[::-1].copy()  # any order but the natural one
    sizes = np.asarray(sizes, dtype=np.int64)
    function = function or data_utils.batch_by_size
    return indices, function(indices, lambda index: sizes[index], sizes[indices], **limits)


@pytest.mark.parametrize("multiple", [1, 2, 8])
@pytest.mark.parametrize("sentences", [1, 5, 8, 13, 64, 1014])
def test_every_sentence_is_in_exactly_one_batch_in_the_given_order(sentences, multiple):
    indices, batches = batches_of(
        [10] * sentences, max_sentences=64, required_batch_size_multiple=multiple
    )
    np.testing.assert_array_equal(np.concatenate(batches), indices)


def test_batches_before_the_tail_are_those_of_stock_fairseq():
    sizes = np.random.RandomState(1).randint(1, 40, size=301)
    limits = {"max_tokens": 400, "required_batch_size_multiple": 8}
    _, stock = batches_of(sizes, STOCK, **limits)
    _, batches = batches_of(sizes, **limits)
    assert len(batches) == len(stock) + 1
    for ours, theirs in zip(batches, stock, strict=False):
        np.testing.assert_array_equal(ours, theirs)


def test_the_tail_keeps_within_the_limits_of_a_batch():
    sizes = np.random.RandomState(1).randint(1, 40, size=301)
    _, batches = batches_of(sizes, max_tokens=400, max_sentences=32, required_batch_size_multiple=8)
    assert len(batches[-1]) <= 32
    assert len(batches[-1]) * sizes[batches[-1]].max() <= 400


def test_no_sentences_make_no_batches():
    assert batches_of([], max_sentences=8, required_batch_size_multiple=8)[1] == []


def test_batches_of_fixed_shapes_are_those_of_stock_fairseq():
    shapes = np.array([[8, 10], [4, 20]], dtype=np.int64)
    limits = {"fixed_shapes": shapes, "required_batch_size_multiple": 8}
    _, stock = batches_of([9] * 21, STOCK, **limits)
    _, batches = batches_of([9] * 21, **limits)
    np.testing.assert_equal([list(batch) for batch in batches], [list(batch) for batch in stock])


def test_data_sets_batch_through_the_mended_function():
    sentences, sizes = [torch.ones(10, dtype=torch.int64)] * 13, np.full(13, 10)
    dataset = LanguagePairDataset(ListDataset(sentences, sizes), sizes, Dictionary())
    batches = dataset.batch_by_size(np.arange(13), max_sentences=8, required_batch_size_multiple=8)
    assert sorted(np.concatenate(batches)) == list(range(13))
