"""Resampled BLEU is the BLEU of the sentences drawn, and the interval holds 95% of it."""

import random

import numpy as np
import pytest

import comparison
import resampling
import scoring

SENTENCES = 30


def corpus(seed, wrong):
    """References, and hypotheses in which the given share of the words is wrong."""
    draw = random.Random(0)
    references = [
        " ".join(draw.choices("abcdefgh", k=draw.randint(3, 9))) for _ in range(SENTENCES)
    ]
    draw = random.Random(seed)
    hypotheses = [
        " ".join("wrong" if draw.random() < wrong else word for word in line.split())
        for line in references
    ]
    hypotheses[3] = ""  # a translation can be empty
    return references, hypotheses


@pytest.mark.parametrize(("tokenised", "lowercase"), [(True, False), (False, True)])
def test_a_resample_scores_like_the_sentences_it_drew(tokenised, lowercase):
    references, hypotheses = corpus(1, 0.3)
    metric = scoring.bleu_metric(tokenised, lowercase)
    found = resampling.resampled_bleu(hypotheses, references, metric)
    assert found.shape == (resampling.RESAMPLES,)
    times = resampling.multiplicities(SENTENCES)
    for number in (0, 1, 500, 999):
        drawn = np.repeat(np.arange(SENTENCES), times[number])
        chosen = [[lines[index] for index in drawn] for lines in (hypotheses, references)]
        assert found[number] == metric.corpus_score(chosen[0], [chosen[1]]).score


def test_every_resample_is_as_large_as_the_test_set_and_always_the_same():
    times = resampling.multiplicities(SENTENCES)
    assert set(times.sum(axis=1)) == {SENTENCES}
    assert (times == resampling.multiplicities(SENTENCES)).all()
    assert len({tuple(row) for row in times}) == resampling.RESAMPLES


def test_the_interval_leaves_out_a_fortieth_at_either_end():
    found = resampling.interval(7.0, np.arange(1001)[::-1] / 10)
    assert found == pytest.approx((7.0, 2.5, 97.5))
    assert str(found) == "+7.00 [+2.50, +97.50]"


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution():
    # Every sentence is one word, right or wrong; with unigrams alone BLEU is the share of right
    # ones, so the resamples are binomial with a standard deviation of sqrt(p (1 - p) / n).
    metric = scoring.BLEU(tokenize="none", max_ngram_order=1, force=True)
    sentences, right = 400, 0.3
    hypotheses = ["a" if number < right * sentences else "b" for number in range(sentences)]
    found = resampling.resampled_bleu(hypotheses, ["a"] * sentences, metric)
    low, high = resampling.interval(30.0, found)[1:]
    half = 1.96 * 100 * (right * (1 - right) / sentences) ** 0.5
    # A percentile of 1,000 resamples is itself off by a tenth of the half width or so.
    assert (low, high) == pytest.approx((30 - half, 30 + half), abs=half / 5)


def test_differences_are_paired():
    references, first = corpus(1, 0.3)
    better = list(first)
    better[5] = references[5]  # never worse than the first, whatever is drawn
    found = comparison.difference_intervals(
        first, {"same": first, "better": better}, references, tokenised=True
    )
    assert found["same"] == (0, 0, 0)
    assert found["better"].difference > 0
    assert found["better"].low >= 0
