"""What every criterion must do: the exact loss in validation, and figures that add up."""

import functools
from types import SimpleNamespace

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY

from fairseq_outlayers.registered_options import parts_of_ours
from tests.conftest import make_batch, make_criterion, make_model, make_task

OURS = list(parts_of_ours(CRITERION_REGISTRY))
LENGTHS = [(4, 5), (1, 3), (6, 2)]
pytestmark = pytest.mark.parametrize("name", OURS)


@pytest.fixture
def task():
    task = make_task()
    task.cfg = SimpleNamespace(partition_size=1, partition_mode="paper")
    task.log_shares_in_use = lambda: torch.zeros(len(task.target_dictionary))
    return task


@pytest.fixture
def make(name, task):
    """Makes the criterion as fairseq does, with its default options but for those given."""
    return functools.partial(make_criterion, name, task)


def exact(model, task, batch, smoothing=0.0):
    logits, _ = model(**batch["net_input"])
    real = batch["target"].ne(task.target_dictionary.pad())
    log_probabilities = logits[real].log_softmax(-1)
    nll = -log_probabilities.gather(1, batch["target"][real].unsqueeze(1)).sum()
    others = -log_probabilities.sum()
    share = smoothing / (logits.size(-1) - 1)
    return nll * (1 - smoothing - share) + share * others, nll, int(real.sum())


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_validation_is_the_exact_loss_over_all_classes(make, task, smoothing):
    model, batch = make_model("luong_lstm", task).eval(), make_batch(task, LENGTHS)
    loss, size, log = make(label_smoothing=smoothing).eval()(model, batch)
    expected, nll, tokens = exact(model, task, batch, smoothing)
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    torch.testing.assert_close(log["nll_loss"], nll.detach(), rtol=1e-10, atol=0)
    assert size == log["sample_size"] == log["ntokens"] == tokens
    assert log["nsentences"] == len(LENGTHS)


def test_every_parameter_is_trained_by_a_finite_loss(make, task):
    model = make_model("luong_lstm", task).train()
    loss, _, log = make().train()(model, make_batch(task, LENGTHS))
    loss.backward()
    assert loss.isfinite()
    assert not log["loss"].requires_grad
    assert not log["nll_loss"].requires_grad
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name
        assert parameter.grad.any(), parameter_name


def _computed(make, model, batch, train=True, reduce=True, **options):
    """Loss and log of a criterion that has seen no batch of its update."""
    criterion = make(**options).train(train)
    criterion.follow_updates(lambda: 3)
    loss, _, log = criterion(model, batch, reduce=reduce)
    return loss.detach(), log


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("train", [True, False])
def test_without_reduction_there_is_a_value_for_each_position(make, task, train, smoothing):
    model, batch = make_model("luong_lstm", task).eval(), make_batch(task, LENGTHS)
    each, log = _computed(make, model, batch, train, reduce=False, label_smoothing=smoothing)
    total, summed = _computed(make, model, batch, train, label_smoothing=smoothing)
    assert each.shape == (log["ntokens"],)
    torch.testing.assert_close(each.sum(), total, rtol=1e-10, atol=0)
    torch.testing.assert_close(log["nll_loss"].sum(), summed["nll_loss"], rtol=1e-10, atol=0)


def test_a_training_loss_depends_on_the_update_and_not_on_other_random_numbers(make, task):
    model, batch = make_model("luong_lstm", task).eval(), make_batch(task, LENGTHS)
    first, _ = _computed(make, model, batch)
    torch.rand(1)
    again, _ = _computed(make, model, batch)
    assert torch.equal(first, again)


def test_smoothing_acts_in_training_and_leaves_the_likelihood_as_it_is(make, task):
    model, batch = make_model("luong_lstm", task).eval(), make_batch(task, LENGTHS)
    plain, plain_log = _computed(make, model, batch)
    smoothed, smoothed_log = _computed(make, model, batch, label_smoothing=0.2)
    assert (smoothed - plain).abs() > 1e-3
    torch.testing.assert_close(smoothed_log["nll_loss"], plain_log["nll_loss"], rtol=1e-10, atol=0)


def test_a_loss_is_a_sum_over_positions(make, task):
    model, batch = make_model("luong_lstm", task).eval(), make_batch(task, LENGTHS)
    twice = {name: value for name, value in batch.items() if name != "net_input"}
    twice = {
        name: torch.cat([value, value]) if isinstance(value, torch.Tensor) else 2 * value
        for name, value in twice.items()
    }
    twice["net_input"] = {
        name: torch.cat([value, value]) for name, value in batch["net_input"].items()
    }
    once, log = _computed(make, model, batch)
    both, of_both = _computed(make, model, twice)
    torch.testing.assert_close(both, 2 * once, rtol=1e-10, atol=0)
    torch.testing.assert_close(of_both["nll_loss"], 2 * log["nll_loss"], rtol=1e-10, atol=0)


def test_with_sentence_avg_the_sample_size_is_the_number_of_sentences(make, task):
    model, batch = make_model("luong_lstm", task).eval(), make_batch(task, LENGTHS)
    assert make(sentence_avg=True).eval()(model, batch)[1] == len(LENGTHS)
