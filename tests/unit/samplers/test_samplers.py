"""Samplers against their distributions, by enumeration and by counting."""

import itertools
import math
import re

import numpy as np
import pytest
import torch
from fairseq.data import TruncatedDictionary

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.options import SamplerConfig
from fairseq_outlayers.samplers import (
    SAMPLERS,
    BatchNegativesSampler,
    LogUniformSampler,
    ProposalSampler,
    UniformSampler,
    UnigramSampler,
    build_sampler,
)
from fairseq_outlayers.samplers.batch_negatives import skip
from fairseq_outlayers.samplers.frequencies import class_counts
from tests.conftest import make_dictionary, needed_sampler_options

each_sampler = pytest.mark.parametrize("name", SAMPLERS)
PROPOSALS = [name for name, kind in SAMPLERS.items() if issubclass(kind, ProposalSampler)]
TARGETS = torch.tensor([7, 2, 7, 12, 2])


def make(name, dictionary, num_sampled, **options):
    options = {**needed_sampler_options(name, dictionary), **options}
    config = SamplerConfig(sampler=name, **options)
    return build_sampler(config, dictionary, num_sampled)


class FixedSampler(ProposalSampler):
    """A proposal that comes from no dictionary."""

    build = None


def generator(seed=0):
    return np.random.Generator(np.random.Philox(seed))


@each_sampler
def test_the_weighted_sample_estimates_a_sum_over_all_classes_without_bias(name):
    dictionary = make_dictionary(16)
    sampler = make(name, dictionary, 9)
    draws = 4000
    weights = torch.zeros(draws, len(dictionary), dtype=torch.float64)
    stream = generator()
    for draw in weights:
        sample = sampler.sample(TARGETS, stream)
        draw[sample.ids] = (-sample.log_expected_count).exp()
    # The estimate is unbiased for any scores if every class has weight one on average.
    error = (weights.mean(0) - 1).abs()
    deviation = weights.std(0) / math.sqrt(draws)
    assert (error <= 5 * deviation + 1e-12).all()
    assert (deviation < 0.15).all()  # else the line above would prove nothing


def test_a_proposals_expected_counts_are_exact_over_all_possible_draws():
    q, n = np.array([0.5, 0.125, 0.375]), 2
    sampler = FixedSampler(q * 7, n)  # any scale
    points = (np.arange(8) + 0.5) / 8

    class Prescribed:
        def __init__(self, values):
            self.values = np.array(values)

        def random(self, size):
            assert size == n
            return self.values

    weight = np.zeros(3)
    for draw in itertools.product(points, repeat=n):
        sample = sampler.sample(torch.tensor([1]), Prescribed(draw))
        weight[sample.ids.numpy()] += (-sample.log_expected_count).exp().numpy() / 8**n
    np.testing.assert_allclose(weight, 1.0, rtol=1e-12)


@each_sampler
def test_of_a_truncated_dictionary_only_its_classes_are_drawn(name):
    """fairseq's has the counts and ids of all words; its length alone is that of the output."""
    dictionary = TruncatedDictionary(make_dictionary(96), 20)
    sampler = make(name, dictionary, 12)
    targets = TARGETS.clamp(max=19)
    draws = [sampler.sample(targets, generator(seed)).ids for seed in range(50)]
    assert sampler.num_classes == 20
    assert torch.cat(draws).max() == 19


def test_words_that_are_cut_off_count_as_unknown():
    counts = class_counts(TruncatedDictionary(make_dictionary(96), 20))
    words = list(range(96, 0, -1))  # 16 are kept
    assert counts.tolist() == [1, 1, 96, sum(words[16:]), *words[:16]]


@each_sampler
def test_a_draw_is_a_pure_function_of_the_generator(name):
    sampler = make(name, make_dictionary(40), 12)
    batches = [torch.from_numpy(generator(100 + n).integers(2, 44, 6)) for n in range(20)]
    before = torch.stack(batches)
    draws = [sampler.sample(batch, generator(seed)) for seed, batch in enumerate(batches)]
    assert torch.equal(torch.stack(batches), before)  # the loss reads the targets later
    for seed, found in enumerate(draws):  # whatever the earlier batches were
        fresh = make(name, make_dictionary(40), 12).sample(batches[seed], generator(seed))
        for a, b in zip(found, fresh, strict=True):
            assert torch.equal(a, b)
    assert len({tuple(draw.ids.tolist()) for draw in draws}) > 10


@each_sampler
def test_ids_are_ascending_without_repetition_and_within_the_dictionary(name):
    dictionary = make_dictionary(40)
    sampler = make(name, dictionary, 30)
    for seed in range(20):
        sample = sampler.sample(TARGETS, generator(seed))
        ids = sample.ids.tolist()
        assert ids == sorted(set(ids))
        assert ids[0] >= 0
        assert ids[-1] < len(dictionary)
        assert sample.log_expected_count.shape == sample.ids.shape


@pytest.mark.parametrize("name", ["uniform", *PROPOSALS])
def test_no_more_classes_come_than_were_drawn(name):
    sampler = make(name, make_dictionary(40), 30)
    for seed in range(20):
        assert len(sampler.sample(TARGETS, generator(seed)).ids) <= 30


def test_uniform_draws_all_classes_when_asked_for_as_many():
    sample = make("uniform", make_dictionary(16), 20).sample(TARGETS, generator())
    assert sample.ids.tolist() == list(range(20))
    assert sample.log_expected_count.abs().max() == 0


def test_log_uniform_follows_its_formula_over_the_ranks():
    dictionary = make_dictionary(5)  # w0 the most frequent
    sampler = make("log_uniform", dictionary, 3)
    # The end of sentence, the unknown word, then the words, then what is never predicted.
    by_rank = [dictionary.eos(), dictionary.unk(), *range(4, 9), dictionary.bos(), dictionary.pad()]
    for rank, k in enumerate(by_rank):
        q = math.log((rank + 2) / (rank + 1)) / math.log(len(by_rank) + 1)
        assert sampler.log_expected_counts[k].item() == pytest.approx(math.log(3 * q), rel=1e-12)


def test_log_uniform_without_a_dictionary_takes_classes_in_the_order_of_their_frequencies():
    q = np.log1p(1 / np.arange(1, 6)) / math.log(6)
    sampler = LogUniformSampler(5, 3)
    np.testing.assert_allclose(sampler.log_expected_counts, np.log(3 * q), rtol=1e-12)
    last_first = LogUniformSampler(5, 3, ranks=np.arange(5)[::-1])
    torch.testing.assert_close(
        last_first.log_expected_counts, sampler.log_expected_counts.flip(0), rtol=1e-12, atol=0
    )


def test_log_uniform_ranks_by_count_where_the_dictionary_is_not_sorted():
    dictionary = make_dictionary(3)
    dictionary.count[4:] = [10, 500, 20]
    sampler = make("log_uniform", dictionary, 3)
    claimed = sampler.log_expected_counts[[5, 6, 4]]
    assert claimed[0] > claimed[1] > claimed[2]


@pytest.mark.parametrize("power", [1.0, 0.75, 0.0])
def test_unigram_follows_the_counts_to_a_power(power):
    dictionary = make_dictionary(4)
    dictionary.count[4:] = [900, 50, 3, 0]
    # A word without count can be drawn; </s> and <unk> are as frequent as the most frequent word.
    counts = [1, 1, 900, 900, 900, 50, 3, 1]
    total = sum(count**power for count in counts)
    sampler = make("unigram", dictionary, 6, unigram_power=power)
    expected = [math.log(6 * count**power / total) for count in counts]
    found = sampler.log_expected_counts
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1] * 2, "all 2 words of the target dictionary have the count 1: rebuild"),
        ([0] * 5, "all 5 words of the target dictionary have the count 0: rebuild"),
        ([100, 100, 0, 0], "all 2 words of the target dictionary have the count 100: rebuild"),
    ],
)
def test_unigram_refuses_a_dictionary_without_counts(counts, message):
    """fairseq pads it with words of count 0."""
    dictionary = make_dictionary(len(counts))
    dictionary.count[4:] = counts
    with pytest.raises(UserError, match=f"this --sampler needs counts, but {message}"):
        make("unigram", dictionary, 2)


def test_unigram_takes_the_count_of_the_only_word():
    dictionary = make_dictionary(1)
    dictionary.count[4:] = [6]
    found = make("unigram", dictionary, 2, unigram_power=1.0).log_expected_counts.exp()
    torch.testing.assert_close(found, torch.tensor([1, 1, 6, 6, 6]).double() * 2 / 20)


def test_a_negative_power_is_refused():
    with pytest.raises(UserError, match=r"--unigram-power -0.5: must be at least 0"):
        make("unigram", make_dictionary(5), 3, unigram_power=-0.5)


@pytest.mark.parametrize("power", [math.nan, math.inf, 1e30, 10.5])
def test_a_power_that_overflows_is_refused(power):
    with pytest.raises(UserError, match=f"--unigram-power {re.escape(str(power))}: must be"):
        make("unigram", make_dictionary(5), 3, unigram_power=power)


@pytest.mark.parametrize("weights", [[1e308, 1e308, 1.0], [1e300, 1e-300, 1.0], [1e150, 1e-180]])
def test_weights_beyond_double_precision_are_refused(weights):
    with pytest.raises(UserError, match="exceeds double precision"):
        FixedSampler(np.array(weights), 3)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, -0.5, -1.0], "class 1 the weight -0.5 (2 such): must be a positive number; "),
        ([1.0, math.nan], "class 1 the weight nan (1 such)"),
        ([1.0, 2.0, 0.0], "class 2 the probability 0, so it could never be sampled"),
    ],
)
def test_a_weight_that_is_not_positive_is_refused_with_its_class(weights, said):
    with pytest.raises(UserError, match=re.escape(said)) as raised:
        FixedSampler(np.array(weights), 3)
    assert str(raised.value).endswith(
        "give every class a positive weight (the options of this --sampler)"
    )


def test_weights_far_apart_are_accepted():
    assert FixedSampler(np.array([1e200, 1.0]), 3).log_expected_counts[0] == math.log(3)


def test_a_point_that_is_rounded_up_to_the_sum_draws_the_last_class():
    class Ones:
        def random(self, size):
            return np.ones(size)

    drawn = FixedSampler(np.array([0.25, 0.75]), 4).sample(torch.tensor([0]), Ones())
    assert drawn.ids.tolist() == [1]


def test_more_classes_than_float32_can_number_are_drawn_from():
    num_classes = 2**24 + 3  # torch.multinomial ends at 2 ** 24
    probabilities = np.full(num_classes, 1e-30)
    probabilities[[5, -1]] = 1.0
    with np.errstate(divide="ignore"):
        sampler = FixedSampler(probabilities, 50)
    assert sampler.sample(TARGETS, generator()).ids.tolist() == [5, num_classes - 1]


def test_batch_negatives_hold_the_batch_padding_and_uniform_others():
    dictionary = make_dictionary(40)
    sampler = make("batch_negatives", dictionary, 12)
    sample = sampler.sample(TARGETS, generator())
    always = {2, 7, 12, dictionary.pad()}
    assert len(sample.ids) == 12
    assert always <= set(sample.ids.tolist())
    share = math.log((12 - 4) / (44 - 4))
    for k, log_expected in zip(sample.ids.tolist(), sample.log_expected_count, strict=True):
        assert log_expected == pytest.approx(0.0 if k in always else share)


@pytest.mark.parametrize("num_sampled", [1, 4])
def test_batch_negatives_never_leave_out_a_target(num_sampled):
    sampler = make("batch_negatives", make_dictionary(40), num_sampled)
    sample = sampler.sample(TARGETS, generator())
    assert sample.ids.tolist() == [1, 2, 7, 12]
    assert sample.log_expected_count.abs().max() == 0


def test_batch_negatives_of_all_classes_are_all_classes():
    sample = make("batch_negatives", make_dictionary(16), 20).sample(TARGETS, generator())
    assert sample.ids.tolist() == list(range(20))
    assert sample.log_expected_count.abs().max() == 0


def test_skipping_ids_numbers_the_others_in_order():
    for left_out in ([], [0], [4], [1, 2, 4], [0, 1, 2, 3, 4]):
        others = [k for k in range(5) if k not in left_out]
        ranks = torch.arange(len(others))
        assert skip(torch.tensor(left_out, dtype=torch.long), ranks).tolist() == others


def test_an_unknown_name_is_refused_with_the_known_ones():
    config = SamplerConfig()
    config.sampler = "gumbel"
    with pytest.raises(UserError, match=r"--sampler gumbel.*batch_negatives.*uniform"):
        build_sampler(config, make_dictionary(5), 3)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: UniformSampler(100, 500), "num_sampled=500: only 100 classes can be drawn"),
        (lambda: UniformSampler(100, 10.0), "num_sampled=10.0 of num_classes=100: must be whole"),
        (lambda: UnigramSampler(np.ones(9), 2.5), "num_sampled=2.5 of num_classes=9: must be whol"),
        (lambda: UniformSampler(100, -1), "num_sampled=-1 of num_classes=100: must be at least 0"),
        (lambda: LogUniformSampler(5, 50, ranks=[0, 1]), r"ranks \(2,\): must be \(5,\), one per"),
        (lambda: BatchNegativesSampler(10, 5, padding_idx=10), "padding_idx=10: must be a class"),
        (lambda: BatchNegativesSampler(10, 5, padding_idx=-1), "padding_idx=-1: must be a class"),
        (lambda: UnigramSampler(np.ones((3, 2)), 5), r"probabilities \(3, 2\): must be \(V,\)"),
        (lambda: UnigramSampler([], 5), "num_sampled=5 of num_classes=0: must be at least 0 of at"),
    ],
)
def test_arguments_that_would_fail_at_the_first_sample_are_refused(build, message):
    with pytest.raises(UserError, match=message):
        build()
