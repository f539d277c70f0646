"""Sampling where only improbable words are allowed, against fairseq's on the same distribution."""

import pytest
import torch
from fairseq.search import Sampling

from fairseq_outlayers.decoding.sampling import RescaledSampling
from fairseq_outlayers.errors import UserError
from tests.conftest import make_batch, make_dictionary, make_model

BATCH, BEAM, WORDS = 2, 3, 12
SCORES = torch.zeros(BATCH, BEAM, 4)


def log_probabilities(lowered=0.0):
    """Some words are excluded; all others are less probable by ``lowered`` nats."""
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(BATCH, BEAM, WORDS, generator=generator).log_softmax(-1) - lowered
    return scores.index_fill(-1, torch.arange(8), -torch.inf)


def drawn(search, step, lowered):
    torch.manual_seed(2)
    return search.step(step, log_probabilities(lowered), SCORES)


@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("lowered", [0.0, -3.0, 20.0])
@pytest.mark.parametrize("limits", [(-1, -1.0), (2, -1.0), (-1, 0.5)], ids=["all", "topk", "topp"])
def test_what_float32_holds_is_sampled_bit_for_bit_as_by_fairseq(step, lowered, limits):
    """Also where ``--unkpen`` has raised a probability above 1."""
    dictionary = make_dictionary(WORDS - 4)
    expected = drawn(Sampling(dictionary, *limits), step, lowered)
    found = drawn(RescaledSampling(dictionary, *limits), step, lowered)
    assert all(a.equal(b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("limits", [(-1, -1.0), (2, -1.0)], ids=["all", "topk"])
def test_words_beyond_float32_are_drawn_as_if_they_were_probable(step, limits):
    dictionary = make_dictionary(WORDS - 4)
    scores, words, beams = drawn(RescaledSampling(dictionary, *limits), step, 0.0)
    lowered = drawn(RescaledSampling(dictionary, *limits), step, 500.0)
    assert lowered[1].equal(words)
    assert lowered[2].equal(beams)
    torch.testing.assert_close(lowered[0], scores - 500, atol=1e-3, rtol=0)


@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("limits", [(-1, -1.0), (2, -1.0)], ids=["all", "topk"])
def test_a_word_may_be_more_probable_than_float32_holds(step, limits):
    dictionary = make_dictionary(WORDS - 4)
    scores, words, _ = drawn(RescaledSampling(dictionary, *limits), step, 0.0)
    raised = drawn(RescaledSampling(dictionary, *limits), step, -500.0)
    assert raised[1].equal(words)
    torch.testing.assert_close(raised[0], scores + 500, atol=1e-3, rtol=0)


@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("limits", [(-1, -1.0), (2, -1.0), (-1, 0.5)], ids=["all", "topk", "topp"])
def test_where_no_word_is_allowed_the_end_is_drawn_and_ends_nothing(step, limits):
    dictionary = make_dictionary(WORDS - 4)
    search = RescaledSampling(dictionary, *limits)
    lprobs = log_probabilities()
    lprobs[1] = -torch.inf
    torch.manual_seed(2)
    scores, words, _ = search.step(step, lprobs, SCORES)
    assert words[1].tolist() == [dictionary.eos()] * BEAM
    assert scores[1].tolist() == [-torch.inf] * BEAM
    assert scores[0].isfinite().all()


@pytest.mark.parametrize("frequent", [0, 5])
def test_without_an_allowed_word_the_list_grows_or_the_search_is_refused(
    frequent, make_task, decode
):
    task = make_task(candidate_frequent=frequent) if frequent else make_task()
    model = make_model("luong_lstm", task).eval()
    options = {"beam": 2, "sampling": True, "no_repeat_ngram_size": 1}
    batch = make_batch(task, [(3, 3), (2, 3)])
    found = decode(task, [model], batch, **options, min_len=8)
    assert all(len(one["tokens"]) > 8 for sentence in found for one in sentence)
    with pytest.raises(UserError, match=r"no finished hypothesis.*loosen --no-repeat-ngram-size"):
        decode(task, [model], batch, **options, min_len=50, max_len_b=60)


def test_a_search_at_a_low_temperature_ends_where_only_the_end_is_allowed(make_task, decode):
    task = make_task()
    model = make_model("luong_lstm", task).eval()
    with torch.no_grad():
        model.decoder.output_projection.bias[task.target_dictionary.eos()] = -9.0
    options = {"sampling": True, "temperature": 0.02, "max_len_b": 3}
    found = decode(task, [model], make_batch(task, [(3, 3), (2, 3)]), **options)
    assert all(one["tokens"][-1] == 2 for sentence in found for one in sentence)


def test_a_search_samples_from_the_words_that_its_options_leave(make_task, decode):
    task = make_task()
    model = make_model("luong_lstm", task).eval()
    batch = make_batch(task, [(3, 3), (2, 3)])
    best, likely = (
        decode(task, [model], batch, sampling=True, **limit)
        for limit in ({"sampling_topk": 1}, {"sampling_topp": 1e-6})
    )
    for hypotheses, others in zip(best, likely, strict=True):
        tokens = hypotheses[0]["tokens"].tolist()
        assert all(one["tokens"].tolist() == tokens for one in (*hypotheses, *others))
