"""Shares of target tokens against a count over sentences, one after the other."""

from itertools import pairwise

import numpy as np
import pytest

from fairseq_outlayers.partitions.corpus import ORDERS, CorpusPartitions, reshuffled
from fairseq_outlayers.partitions.plan import Words, partition
from fairseq_outlayers.partitions.shares import log_shares, pooled_log_shares, token_shares
from tests.unit.partitions.test_plan import random_side, walk


def counted(side, rows, order, classes_of):
    """For every sentence, its tokens count for each class of its partition."""
    bounds = walk([(side, rows)], order)
    counts, total = np.zeros(side.num_words), 0
    for number, (begin, end) in enumerate(pairwise(bounds)):
        for sentence in order[begin:end]:
            total += len(rows[sentence])
            for word in classes_of(number, order[begin:end]):
                counts[word] += len(rows[sentence])
    return counts / total


def used(rows, sentences):
    return {0, 1, 2, 3}.union(*(rows[sentence].tolist() for sentence in sentences))


def plan_of(side, sentences, **options):
    return CorpusPartitions(None, {"target": side}, sentences, **options)


def test_a_share_is_the_count_of_tokens_in_whose_partition_the_word_is():
    side, rows = random_side(1, 60)
    order = np.flatnonzero(np.random.default_rng(3).random(800) < 0.9)
    expected = counted(side, rows, order, lambda _, sentences: used(rows, sentences))
    found = token_shares(Words(side, order, partition([side], order), keep_full=False))
    assert found.tolist() == expected.tolist()
    assert (expected[:4] == 1).all()
    assert len(np.unique(expected)) > 20
    logs = plan_of(side, order).log_shares()
    seen = expected > 0
    np.testing.assert_allclose(logs[seen], np.log(expected[seen]), rtol=1e-12)


def test_words_that_stay_as_negatives_count_as_well():
    side, rows = random_side(1, 60)
    order = np.arange(800)
    words = Words(side, order, partition([side], order), keep_full=True)
    expected = counted(side, rows, order, lambda number, _: words.of(number).tolist())
    logs = plan_of(side, order, keep_full=True).log_shares()
    np.testing.assert_allclose(np.exp(logs[expected > 0]), expected[expected > 0], rtol=1e-12)
    assert (expected >= token_shares(Words(side, order, words.bounds, keep_full=False))).all()


def test_a_word_of_no_partition_counts_as_one_of_a_partition_of_one_token():
    side, rows = random_side(1, 60)
    never = sorted(set(range(300)) - used(rows, range(800)))
    assert never
    tokens = sum(map(len, rows))
    assert np.exp(plan_of(side, np.arange(800)).log_shares()[never]) == pytest.approx(1 / tokens)


@pytest.mark.parametrize("keep_full", [False, True])
@pytest.mark.parametrize("seed", [None, 1])
def test_with_one_partition_of_all_words_every_logarithm_is_zero(keep_full, seed):
    side, _ = random_side(1, 300)
    logs = plan_of(side, np.arange(800), keep_full=keep_full, seed=seed).log_shares()
    assert logs.tolist() == [0.0] * 300


def test_of_reshuffled_partitions_it_is_the_mean_over_many_orders():
    """Within five standard errors of both means, those of the estimate and of the reference."""
    side, rows = random_side(1, 100, sentences=300)
    generator = np.random.default_rng(99)
    orders = [generator.permutation(300) for _ in range(200)]
    shares = np.stack(
        [counted(side, rows, order, lambda _, sentences: used(rows, sentences)) for order in orders]
    )
    expected, deviation = shares.mean(0), shares.std(0, ddof=1)
    seen = expected > 0
    found = np.exp(plan_of(side, np.arange(300), seed=5).log_shares())
    error = deviation * np.sqrt(1 / ORDERS + 1 / len(orders))
    assert (np.abs(found - expected)[seen] <= 5 * error[seen] + 1e-12).all()
    # The corpus has few repetitions in a row, so that its own order does not do.
    fixed = np.exp(plan_of(side, np.arange(300)).log_shares())
    assert (np.abs(fixed - expected)[seen] > 5 * error[seen]).any()


def test_of_reshuffled_partitions_it_is_a_function_of_the_seed():
    side, rows = random_side(1, 60)
    first, again, other = (
        plan_of(side, np.arange(800), seed=seed).log_shares() for seed in (1, 1, 2)
    )
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()
    # Its orders are those that training goes through.
    orders = [reshuffled(np.arange(800), 1, epoch) for epoch in range(1, ORDERS + 1)]
    counts = [counted(side, rows, o, lambda _, sentences: used(rows, sentences)) for o in orders]
    seen = np.mean(counts, axis=0) > 0
    np.testing.assert_allclose(np.exp(first)[seen], np.mean(counts, axis=0)[seen], rtol=1e-12)


def test_shares_of_several_texts_count_by_their_tokens():
    one, other = (np.array([0.5, 1.0, 0.0]), 300), (np.array([1.0, 0.0, 0.0]), 100)
    expected = np.log([0.625, 0.75, 1 / 400])
    np.testing.assert_allclose(pooled_log_shares([one, other]), expected)
    np.testing.assert_array_equal(pooled_log_shares([one]), log_shares(*one))


def test_sentences_left_out_do_not_count_as_tokens():
    side, rows = random_side(1, 60)
    order = np.arange(0, 800, 2)
    never = sorted(set(range(300)) - used(rows, order))
    tokens = sum(len(rows[n]) for n in order)
    assert np.exp(plan_of(side, order).log_shares()[never]) == pytest.approx(1 / tokens)
