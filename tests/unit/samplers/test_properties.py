"""What holds of every sampler, whatever the counts, the size of the sample and the targets."""

import math

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_outlayers.options import SamplerConfig
from fairseq_outlayers.samplers import SAMPLERS, ProposalSampler, build_sampler
from tests.conftest import needed_sampler_options

MOST_WORDS = 30


@st.composite
def situations(draw):
    """A dictionary, how many classes to draw, targets, and the seed of the draw."""
    # The first two differ: a dictionary without counts is refused.
    counts = [7, 8, *draw(st.lists(st.integers(1, 10**6), max_size=MOST_WORDS - 2))]
    dictionary = Dictionary()
    for word, count in enumerate(counts):
        dictionary.add_symbol(f"w{word}", n=count)
    num_sampled = draw(st.integers(1, len(dictionary)))
    words = st.integers(dictionary.eos(), len(dictionary) - 1)
    targets = torch.tensor(draw(st.lists(words, min_size=1, max_size=20)))
    return dictionary, num_sampled, targets, draw(st.integers(0, 2**32))


def sampled(name, situation):
    dictionary, num_sampled, targets, seed = situation
    config = SamplerConfig(sampler=name, **needed_sampler_options(name, dictionary))
    sampler = build_sampler(config, dictionary, num_sampled)
    return sampler, sampler.sample(targets, np.random.Generator(np.random.Philox(seed)))


@pytest.mark.parametrize("name", SAMPLERS)
@settings(max_examples=60, deadline=None)
@given(situation=situations())
def test_ids_ascend_within_the_dictionary_and_have_finite_expected_counts(name, situation):
    sampler, (ids, log_expected_count) = sampled(name, situation)
    assert (ids[1:] > ids[:-1]).all()
    assert ((ids >= 0) & (ids < sampler.num_classes)).all()
    assert ids.dtype == torch.int64
    assert log_expected_count.dtype == torch.float64
    assert log_expected_count.shape == ids.shape
    assert log_expected_count.isfinite().all()


@pytest.mark.parametrize("name", SAMPLERS)
@settings(max_examples=60, deadline=None)
@given(situation=situations())
def test_whoever_says_so_has_every_target_in_the_sample_uncorrected(name, situation):
    sampler, (ids, log_expected_count) = sampled(name, situation)
    if sampler.includes_targets:
        where = torch.isin(ids, situation[2])
        assert set(situation[2].tolist()) <= set(ids.tolist())
        assert (log_expected_count[where] == 0).all()


@pytest.mark.parametrize("name", [n for n, s in SAMPLERS.items() if issubclass(s, ProposalSampler)])
@settings(max_examples=60, deadline=None)
@given(situation=situations())
def test_a_proposals_sample_stands_for_as_many_draws_as_were_asked_for(name, situation):
    """``log(c_k / m_k)`` gives back ``m_k``; the ``c_k`` of all classes add up to the draws."""
    sampler, (ids, log_expected_count) = sampled(name, situation)
    expected = sampler.log_expected_counts.exp()
    assert expected.sum().item() == pytest.approx(situation[1], rel=1e-12)
    multiplicities = expected[ids] / log_expected_count.exp()
    torch.testing.assert_close(multiplicities, multiplicities.round(), rtol=1e-9, atol=0)
    assert multiplicities.sum().item() == pytest.approx(situation[1], rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(situation=situations())
def test_uniform_negatives_fill_a_batch_up_to_the_size_asked_for(situation):
    sampler, (ids, log_expected_count) = sampled("batch_negatives", situation)
    _, num_sampled, targets, _ = situation
    positives = {*targets.tolist(), sampler.padding_idx}
    assert len(ids) == max(len(positives), num_sampled)
    others = sampler.num_classes - len(positives)
    negatives = ~torch.isin(ids, torch.tensor(sorted(positives)))
    share = (len(ids) - len(positives)) / others if others else 1
    for value in log_expected_count[negatives].tolist():
        assert value == pytest.approx(math.log(share), abs=1e-12)
