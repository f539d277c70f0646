"""sampled_softmax through real models: what it draws, what it logs, what it refuses."""

import functools
import logging
import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairseq_outlayers.criterions.base import SoftmaxCriterion
from fairseq_outlayers.criterions.batch_rng import BatchRNG
from fairseq_outlayers.criterions.full_softmax import FullSoftmax
from fairseq_outlayers.criterions.sampled_softmax import (
    SampledSoftmax,
    SampledSoftmaxConfig,
    num_to_sample,
)
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.losses import full, full_nll, sampled, sampled_nll, scored_classes
from fairseq_outlayers.output_layers import JointOutputLayer
from fairseq_outlayers.ranges import ranged
from fairseq_outlayers.samplers import ClassSample, Sampler
from tests.conftest import make_batch, make_criterion, make_model, make_task

LENGTHS = [(4, 5), (1, 3), (6, 2)]


def sampled_softmax(task, **options):
    config = SampledSoftmaxConfig()
    settings = {"sampler": "uniform", "sentence_avg": False, "seed": 1, **options}
    for name, value in settings.items():
        setattr(config, name, value)
    return SampledSoftmax.build_criterion(config, task)


def test_options_of_a_criterion_that_extends_it_are_checked(task):
    @dataclass
    class Config(SampledSoftmaxConfig):
        temperature: float = ranged(1.0, "of the scores", at_least=0)

    with pytest.raises(UserError, match=r"--temperature -1\.0: must be at least 0"):
        SampledSoftmax.build_criterion(Config(num_sampled=4, temperature=-1.0), task)


@pytest.fixture
def model(task):
    return make_model("luong_lstm", task, output_layer="joint", joint_dim=6)


def loss_at(criterion, model, batch, update=0):
    criterion.follow_updates(lambda: update)
    return criterion(model, batch)


def test_all_classes_sampled_give_the_full_softmax_and_its_gradients(task, model):
    batch = make_batch(task, LENGTHS)
    full = FullSoftmax(task, label_smoothing=0.1, loss_chunk_size=0, sentence_avg=False)
    sampled = sampled_softmax(task, sample_share=1.0, label_smoothing=0.1)
    expected, size, _ = full(model, batch)
    references = torch.autograd.grad(expected, list(model.parameters()))
    loss, sampled_size, logged = loss_at(sampled, model, batch)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    assert sampled_size == size
    for gradient, reference in zip(gradients, references, strict=True):
        torch.testing.assert_close(gradient, reference, rtol=1e-8, atol=1e-12)
    assert logged["scored_classes"] == logged["all_classes"] == 21


@pytest.mark.parametrize("options", [{}, {"no_logq_correction": True}])
def test_the_switch_of_the_correction_acts(task, model, options):
    batch = make_batch(task, LENGTHS)
    criterion = sampled_softmax(task, num_sampled=8, **options)
    loss, _, _ = loss_at(criterion, model, batch, update=3)
    hidden, _ = model(**batch["net_input"], features_only=True)
    real = batch["target"].ne(task.target_dictionary.pad())
    logits, targets = model.decoder.output_projection(hidden[real]), batch["target"][real]
    draw = criterion.sampler.sample(targets, BatchRNG(1).next(3))
    # Uniform without replacement: 8 of 21.
    of_sampled = 0.0 if options.get("no_logq_correction") else np.log(8 / 21)
    expected = 0.0
    for scores, target in zip(logits, targets, strict=True):
        own = scores[target]
        others = [scores[k] - of_sampled for k in draw.ids if k != target]
        expected = expected + torch.stack([own, *others]).exp().sum().log() - own
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)


def test_validation_is_exact_whatever_the_sampler(task, model):
    batch = make_batch(task, LENGTHS)
    criterion = sampled_softmax(task, num_sampled=3).eval()
    expected, _, _ = FullSoftmax(task, 0.0, 0, False)(model.eval(), batch)
    loss, _, logged = criterion(model, batch)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)
    assert "scored_classes" not in logged


def test_an_unreduced_loss_sums_to_the_reduced_one(task, model):
    batch = make_batch(task, LENGTHS)
    losses = [
        sampled_softmax(task, num_sampled=8)(model, batch, reduce=reduce)[0]
        for reduce in (True, False)
    ]
    assert losses[1].shape == (13,)
    torch.testing.assert_close(losses[1].sum(), losses[0], rtol=1e-12, atol=0)


def test_a_draw_depends_on_seed_and_update_and_batch_only(task, model):
    batch = make_batch(task, LENGTHS)
    unbroken = sampled_softmax(task, num_sampled=5)
    losses = [loss_at(unbroken, model, batch, update)[0].item() for update in (0, 1, 1, 2)]
    assert len(set(losses)) == 4  # the two batches of update 1 draw differently
    resumed = sampled_softmax(task, num_sampled=5)
    assert [loss_at(resumed, model, batch, u)[0].item() for u in (1, 1, 2)] == losses[1:]
    other = sampled_softmax(task, num_sampled=5, seed=2)
    assert loss_at(other, model, batch)[0].item() != losses[0]


def test_validation_in_between_changes_no_draw(task, model):
    batch = make_batch(task, LENGTHS)
    with_validation, without = (sampled_softmax(task, num_sampled=5) for _ in range(2))
    with_validation(model, batch)
    with_validation.eval()(model, batch)
    without(model, batch)
    losses = [c.train()(model, batch)[0] for c in (with_validation, without)]
    assert losses[0] == losses[1]


def test_two_processes_draw_what_one_with_twice_as_many_batches_draws(monkeypatch):
    def numbers(world_size, rank, turns):
        name = "fairseq_outlayers.criterions.batch_rng.distributed_utils."
        monkeypatch.setattr(name + "get_data_parallel_world_size", lambda: world_size)
        monkeypatch.setattr(name + "get_data_parallel_rank", lambda: rank)
        generators = BatchRNG(7)
        return [generators.next(update).integers(10**9) for update in (4, 5) for _ in range(turns)]

    one = numbers(world_size=1, rank=0, turns=4)
    first, second = (numbers(world_size=2, rank=rank, turns=2) for rank in (0, 1))
    assert [n for pair in zip(first, second, strict=True) for n in pair] == one
    assert len(set(one)) == 8


@pytest.mark.parametrize("asked", [{"sample_share": 0.1}, {"num_sampled": 2}])
def test_a_sample_smaller_than_the_batch_warns_once_with_the_realized_share(
    task, model, asked, caplog
):
    batch = make_batch(task, LENGTHS)
    criterion = sampled_softmax(task, sampler="batch_negatives", **asked)
    with caplog.at_level(logging.WARNING):
        logged = [loss_at(criterion, model, batch, update)[2] for update in range(3)]
    distinct = len(batch["target"].unique())  # padding is among them
    assert all(log["scored_classes"] == distinct for log in logged)
    (warning,) = [r.getMessage() for r in caplog.records if "must be scored" in r.getMessage()]
    assert f"{distinct} classes" in warning
    assert f"{distinct / 21:.1%}" in warning
    assert "only 2 are to be sampled" in warning


class EveryOther(Sampler):
    """A sample whose size does not depend on what was asked for, nor on the batch."""

    build = None

    def sample(self, targets, generator):
        ids = torch.arange(0, self.num_classes, 2)
        return ClassSample(ids, torch.full(ids.shape, math.log(0.5), dtype=torch.float64))


def test_a_sampler_that_draws_more_than_was_asked_for_is_not_warned_of_its_batches(
    task, model, caplog
):
    criterion = sampled_softmax(task, num_sampled=3)
    criterion.sampler = EveryOther(21, 3)
    with caplog.at_level(logging.WARNING):
        loss_at(criterion, model, make_batch(task, LENGTHS))
    assert not caplog.records


def test_the_realized_share_counts_the_sample_and_the_targets_beside_it(task, model):
    batch = make_batch(task, LENGTHS)
    criterion = sampled_softmax(task, num_sampled=4)
    _, _, logged = loss_at(criterion, model, batch)
    targets = batch["target"][batch["target"].ne(task.target_dictionary.pad())]
    draw = criterion.sampler.sample(targets, BatchRNG(1).next(0))
    assert logged["scored_classes"] == len({*draw.ids.tolist(), *targets.tolist()})
    assert logged["all_classes"] == 21


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs either --num-sampled or --sample-share"),
        (
            {"num_sampled": 3, "sample_share": 0.1},
            "either --num-sampled or --sample-share .given: --num-sampled 3",
        ),
        ({"num_sampled": 22}, "--num-sampled 22: the target dictionary has only 21 classes"),
        ({"num_sampled": -1}, "--num-sampled -1: must be at least 0"),
        ({"sample_share": 1.5}, "--sample-share 1.5: must be at least 0 and at most 1"),
        ({"sample_share": -0.5}, "--sample-share -0.5: must be at least 0 and at most 1"),
        ({"num_sampled": 3, "label_smoothing": 1.0}, "--label-smoothing 1.0"),
    ],
)
def test_options_without_meaning_are_refused_by_name(task, options, message):
    with pytest.raises(UserError, match=message):
        sampled_softmax(task, **options)


def test_a_share_is_of_all_classes(task):
    assert sampled_softmax(task, sample_share=0.5).sampler.num_sampled == 10  # of 21
    assert sampled_softmax(task, sample_share=0.001).sampler.num_sampled == 1
    assert num_to_sample(SampledSoftmaxConfig(sample_share=0.29), 100) == 29  # .29 * 100 < 29


@pytest.mark.parametrize("sampler", ["uniform", "log_uniform", "unigram"])
def test_the_loss_approaches_the_exact_one_as_more_classes_are_drawn_if_corrected(sampler):
    """|error| of the mean over draws: with correction it vanishes, without it stays."""
    task = make_task(num_target=196)
    generator = torch.Generator().manual_seed(0)
    context, embeddings = (
        torch.randn(n, 1, dtype=torch.float64, generator=generator) for n in (20, 200)
    )
    targets = torch.randint(200, (20,), generator=generator)
    exact = full_nll(context, targets, embeddings) / 20

    def mean_error(num_sampled, correct):
        options = {"num_sampled": num_sampled, "no_logq_correction": not correct}
        criterion = sampled_softmax(task, sampler=sampler, **options)
        layer = SimpleNamespace(
            num_classes=200,
            project=lambda hidden: hidden,
            class_embeddings=lambda ids: embeddings[ids],
            class_bias=lambda ids: None,
        )
        total = 0.0
        for update in range(200):
            criterion.follow_updates(functools.partial(int, update))
            total += criterion.training_loss(layer, context, targets, reduce=True).loss / 20
        return abs(total / 200 - exact).item()

    corrected = [mean_error(n, True) for n in (5, 20, 80)]
    uncorrected = [mean_error(n, False) for n in (5, 20, 80)]
    assert corrected[0] > corrected[1] > corrected[2]
    assert corrected[2] < 0.4 * corrected[0]
    assert corrected[2] < 0.05
    assert all(u > 10 * c for u, c in zip(uncorrected, corrected, strict=True))
    assert uncorrected[2] > 0.5


def test_the_gradients_bias_falls_with_correction_and_stalls_without():
    """Self-normalized estimates are biased at any size; only corrected ones are consistent."""
    generator = np.random.Generator(np.random.Philox(0))
    scores = torch.from_numpy(generator.normal(size=200) * 1.5)
    q = np.exp(generator.normal(size=200))
    q /= q.sum()
    exact = scores.softmax(0)
    target = torch.tensor([0])
    one_hot = torch.nn.functional.one_hot(target, 200)[0]

    def bias(num_drawn, correct):
        mean = torch.zeros(200, dtype=torch.float64)
        for _ in range(400):
            ids, counts = np.unique(generator.choice(200, num_drawn, p=q), return_counts=True)
            expected = np.log(num_drawn * q[ids] / counts) if correct else np.zeros(len(ids))
            rows_of = scored_classes(torch.from_numpy(ids), target)
            embeddings = scores[rows_of.ids].unsqueeze(1).requires_grad_()
            context = torch.ones(1, 1, dtype=torch.float64)
            loss, _ = sampled_nll(
                context, rows_of.target_rows, embeddings, None, torch.from_numpy(expected)
            )
            (gradient,) = torch.autograd.grad(loss, embeddings)
            mean[rows_of.ids] += gradient.squeeze(1) / 400
        return (mean - (exact - one_hot)).abs().sum().item()

    corrected = [bias(n, True) for n in (20, 100, 500)]
    uncorrected = [bias(n, False) for n in (20, 100, 500)]
    assert corrected[0] > 2 * corrected[1] > 4 * corrected[2]
    assert uncorrected[2] > 5 * corrected[2]


def test_logarithms_that_do_not_fit_the_sampled_ids_are_refused(task, model, monkeypatch):
    criterion = sampled_softmax(task, num_sampled=4)
    sample = ClassSample(torch.tensor([4, 5, 6]), torch.zeros(2))
    monkeypatch.setattr(criterion.sampler, "sample", lambda *_: sample)
    with pytest.raises(ValueError, match=r"UniformSampler drew ids \(3,\) with .* \(2,\): must be"):
        loss_at(criterion, model, make_batch(task, LENGTHS))


def test_a_criterion_without_a_training_loss_says_so(task, model):
    class Own(SoftmaxCriterion):
        name = "own"

    criterion = Own(task, 0.0, 0, False)
    with pytest.raises(NotImplementedError, match="Own does not define training_loss"):
        criterion(model, make_batch(task, LENGTHS))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ["full_softmax", "sampled_softmax"])
def test_the_chunk_size_reaches_the_loss(task, name, training, monkeypatch):
    asked = []
    for module in (full, sampled):

        def spy(size, *of, choose=module.choose_chunk_size, **more):
            asked.append(size)
            return choose(size, *of, **more)

        monkeypatch.setattr(module, "choose_chunk_size", spy)
    criterion = make_criterion(name, task, loss_chunk_size=3).train(training)
    criterion(make_model("luong_lstm", task).train(training), make_batch(task, LENGTHS))
    assert set(asked) == {3}


def test_a_batch_that_fits_into_the_sample_is_not_warned_of(task, model, caplog):
    criterion = sampled_softmax(task, sampler="batch_negatives", num_sampled=15)
    assert loss_at(criterion, model, make_batch(task, LENGTHS))[2]["scored_classes"] == 15
    assert not caplog.records


def test_as_many_classes_as_there_are_may_be_sampled(task):
    assert sampled_softmax(task, num_sampled=21).sampler.num_sampled == 21


@pytest.mark.parametrize("name", ["full_softmax", "sampled_softmax"])
def test_classes_are_encoded_once_a_batch_whatever_the_chunks(task, name, monkeypatch):
    model, asked = make_model("luong_lstm", task, output_layer="joint").train(), []
    encode = JointOutputLayer.encode_classes
    monkeypatch.setattr(
        JointOutputLayer,
        "encode_classes",
        lambda layer, ids: asked.append(ids) or encode(layer, ids),
    )
    criterion = make_criterion(name, task, label_smoothing=0.1, loss_chunk_size=2).train()
    _, _, log = criterion(model, make_batch(task, LENGTHS))
    (ids,) = asked
    assert ids is None if name == "full_softmax" else len(ids) == log["scored_classes"]
