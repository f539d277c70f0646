"""A step of the in-place search against fairseq's own."""

import math
from types import SimpleNamespace

import pytest
import torch
from fairseq.search import BeamSearch

from fairseq_outlayers.decoding.in_place_search import (
    InPlaceBeamSearch,
    can_search_in_place,
    log_probabilities,
)
from fairseq_outlayers.decoding.restriction import projection_of
from fairseq_outlayers.errors import UserError
from tests.conftest import make_batch, make_model
from tests.unit.decoding.test_search import LENGTHS, models_of

B, BEAM, C = 3, 4, 50


@pytest.mark.parametrize("step", [0, 1, 5])
@pytest.mark.parametrize("classes", [C, 9, 5])
@pytest.mark.parametrize("spoiled", [False, True])
def test_a_step_takes_what_fairseqs_takes(step, classes, spoiled, dictionaries):
    generator = torch.Generator().manual_seed(step)
    logits = 3 * torch.randn(B * BEAM, classes, generator=generator)
    if spoiled:
        logits[0, 2], logits[5, 3] = math.nan, math.inf
    scores = -torch.rand(B, BEAM, max(step, 1), generator=generator)[:, :, :step]
    stock = torch.log_softmax(logits, dim=-1)
    stock[stock != stock] = -math.inf
    ours = log_probabilities(logits)
    ours[ours != ours] = -math.inf  # as fairseq asks
    for lprobs in (stock, ours):
        lprobs[:, 1] = -math.inf
    expected = BeamSearch(dictionaries[1]).step(step, stock.view(B, BEAM, -1), scores)
    found = InPlaceBeamSearch(dictionaries[1]).step(step, ours.view(B, BEAM, -1), scores)
    torch.testing.assert_close(found[0], expected[0], rtol=0, atol=0)
    # Minus infinity is as good in one place as in another.
    reached = expected[0] > -math.inf
    for one, other in zip(found[1:], expected[1:], strict=True):
        assert torch.equal(one[reached], other[reached])


def test_log_probabilities_take_the_place_of_scores_and_equal_pytorchs_bit_for_bit():
    logits = torch.randn(7, C)
    expected = torch.log_softmax(logits, dim=-1)
    found = log_probabilities(logits)
    assert found.data_ptr() == logits.data_ptr()
    assert torch.equal(torch.Tensor(found), expected)
    low = torch.randn(7, C, dtype=torch.float64)
    assert torch.equal(log_probabilities(low), torch.log_softmax(low, -1, dtype=torch.float32))


@pytest.mark.parametrize("arch", ["luong_lstm", "transformer_outlayers", "transformer"])
@pytest.mark.parametrize(("number", "options", "in_place"), [
    (1, {}, True), (2, {}, False), (1, {"sampling": True}, False),
    (1, {"diverse_beam_groups": 2, "beam": 4}, False),
])  # fmt: skip
def test_plain_beam_search_of_one_model_works_in_place(number, options, in_place, arch, make_task):
    task = make_task()
    models = models_of(task, number, arch)
    generator = task.build_generator(models, SimpleNamespace(**options))
    assert getattr(generator.model, "searches_in_place", False) == in_place
    assert isinstance(generator.search, InPlaceBeamSearch) == in_place
    assert generator.generate(models, make_batch(task, LENGTHS))


def test_a_model_with_an_adaptive_softmax_is_not_searched_in_place(task):
    adaptive = {"adaptive_softmax_cutoff": "8,12"}
    assert can_search_in_place(make_model("transformer", task))
    model = make_model("transformer", task, **adaptive)
    assert not can_search_in_place(model)
    with pytest.raises(UserError, match="of TransformerDecoderBase cannot be replaced"):
        projection_of(model)
    plain = make_model("transformer", task)
    plain.decoder.adaptive_softmax = torch.nn.Identity()  # beside its projection
    with pytest.raises(UserError, match="cannot be replaced"):
        projection_of(plain)


@pytest.mark.parametrize("method", ["get_normalized_probs", "get_normalized_probs_scriptable"])
def test_a_decoder_that_normalizes_its_own_way_is_not_searched_in_place(method, task):
    model = make_model("luong_lstm", task)
    assert can_search_in_place(model)
    kind = type(model.decoder)
    model.decoder.__class__ = type("Own", (kind,), {method: lambda self, *args: None})
    assert not can_search_in_place(model)
