"""How far the gradient of a sampled softmax is from the exact one, on average over draws.

A self-normalized estimate is biased at any number of draws (Jean et al. 2015, Sec. 3). Corrected,
its bias vanishes as the number grows; uncorrected, it estimates the gradient of another softmax.
"""

import numpy as np
import pytest
import torch

from fairseq_outlayers.losses import sampled_nll, scored_classes
from fairseq_outlayers.options import SamplerConfig
from fairseq_outlayers.samplers import build_sampler
from tests.conftest import make_dictionary

V, DRAWS, TARGET = 200, 600, 50
NUM_SAMPLED = (20, 100, 500)


@pytest.fixture(scope="module")
def scores():
    generator = torch.Generator().manual_seed(0)
    return 2 * torch.randn(V, generator=generator, dtype=torch.float64)


@pytest.fixture(scope="module")
def q(scores):
    """Zipf's law in an order that has nothing to do with the scores."""
    weights = 1 / np.random.RandomState(1).permutation(np.arange(1.0, V + 1))
    return torch.from_numpy(weights / weights.sum())


@pytest.fixture(scope="module")
def sampler_of(q, tmp_path_factory):
    dictionary = make_dictionary(V - 4)
    path = tmp_path_factory.mktemp("proposal") / "q.txt"
    rows = [
        f"{word}\t{share!r}\n" for word, share in zip(dictionary.symbols, q.tolist(), strict=True)
    ]
    path.write_text("".join(rows), encoding="utf-8")
    config = SamplerConfig(sampler="proposal", proposal_file=str(path))
    return lambda num_sampled: build_sampler(config, dictionary, num_sampled)


def gradient(scores, sample, log_expected_count):
    """Of the loss of one position, by the scores of all classes."""
    scores = scores.clone().requires_grad_()
    ids, rows = scored_classes(sample.ids, torch.tensor([TARGET]))
    nothing = scores.new_zeros(len(ids), 1)  # the scores are in the biases
    loss, _ = sampled_nll(nothing[:1], rows, nothing, scores[ids], log_expected_count)
    return torch.autograd.grad(loss, scores)[0]


def bias(scores, q, sampler, corrected):
    """L1 distance of the mean gradient over many draws from the exact one."""
    total = torch.zeros_like(scores)
    for draw in range(DRAWS):
        sample = sampler.sample(torch.tensor([TARGET]), np.random.Generator(np.random.Philox(draw)))
        counts = sample.log_expected_count
        if not corrected:  # every draw of a class counts as one
            counts = counts - (sampler.num_sampled * q[sample.ids]).log()
        total += gradient(scores, sample, counts)
    exact = scores.softmax(0)
    exact[TARGET] -= 1
    return (total / DRAWS - exact).abs().sum().item()


def test_the_bias_of_the_corrected_gradient_vanishes_and_the_uncorrected_one_stays(
    scores, q, sampler_of
):
    corrected = [bias(scores, q, sampler_of(n), corrected=True) for n in NUM_SAMPLED]
    uncorrected = [bias(scores, q, sampler_of(n), corrected=False) for n in NUM_SAMPLED]
    assert corrected == sorted(corrected, reverse=True)  # measured: .79, .40, .07
    assert corrected[-1] < min(0.15, 0.2 * corrected[0])
    for ours, theirs in zip(corrected, uncorrected, strict=True):  # measured: 1.18, .88, .72
        assert theirs > ours + 0.3
    # Without correction the classes have weights q exp(score) in the end.
    weights = q * scores.exp()
    limit = (weights / weights.sum() - scores.softmax(0)).abs().sum().item()
    assert limit > 0.5
    assert uncorrected[-1] == pytest.approx(limit, abs=0.05)
