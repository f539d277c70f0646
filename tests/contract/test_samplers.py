"""Every output layer with every sampler: training, validation, translation, candidates."""

import copy

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator

from fairseq_outlayers.criterions.batch_rng import BatchRNG
from fairseq_outlayers.criterions.full_softmax import FullSoftmax
from fairseq_outlayers.criterions.sampled_softmax import SampledSoftmax, SampledSoftmaxConfig
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from fairseq_outlayers.samplers import SAMPLERS
from tests.conftest import make_batch, make_model, make_task, needed_sampler_options

SEED = 5
pytestmark = [
    pytest.mark.parametrize("layer", OUTPUT_LAYERS),
    pytest.mark.parametrize("sampler", SAMPLERS),
]


@pytest.fixture
def task():
    return make_task()


@pytest.fixture
def batch(task):
    return make_batch(task, [(4, 5), (1, 3), (6, 2)])


@pytest.fixture
def model(task, layer):
    return make_model("luong_lstm", task, output_layer=layer)


@pytest.fixture
def criterion(task, sampler):
    needed = needed_sampler_options(sampler, task.target_dictionary)
    config = SampledSoftmaxConfig(sampler=sampler, num_sampled=8, **needed)
    config.sentence_avg, config.seed = False, SEED
    return SampledSoftmax.build_criterion(config, task)


def train(model, criterion, batch, update):
    model.train()
    criterion.train().follow_updates(lambda: update)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    optimizer.zero_grad()
    loss, _, _ = criterion(model, batch)
    loss.backward()
    optimizer.step()
    return loss


def scores_and_targets(model, task, batch):
    logits, _ = model(**batch["net_input"])
    real = batch["target"].ne(task.target_dictionary.pad())
    return logits[real], batch["target"][real]


def test_the_training_loss_and_its_gradients_are_those_of_the_columns_drawn(
    model, criterion, task, batch
):
    logits, targets = scores_and_targets(model, task, batch)
    draw = criterion.sampler.sample(targets.clone(), BatchRNG(SEED).next(4))
    corrected = logits[:, draw.ids] - draw.log_expected_count
    corrected = corrected.masked_fill(draw.ids == targets.unsqueeze(1), float("-inf"))
    own = logits.gather(1, targets.unsqueeze(1))
    expected = (torch.cat([own, corrected], 1).logsumexp(1) - own.squeeze(1)).sum()
    parameters = dict(model.named_parameters())
    references = torch.autograd.grad(expected, list(parameters.values()))

    criterion.follow_updates(lambda: 4)
    loss, _, _ = criterion(model, batch)
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    gradients = torch.autograd.grad(loss, list(parameters.values()))
    for name, gradient, reference in zip(parameters, gradients, references, strict=True):
        torch.testing.assert_close(gradient, reference, rtol=1e-8, atol=1e-12, msg=name)


def test_validation_after_training_is_the_exact_loss(model, criterion, task, batch):
    train(model, criterion, batch, update=0)
    loss, _, _ = criterion.eval()(model.eval(), batch)
    logits, targets = scores_and_targets(model, task, batch)
    expected = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    full = FullSoftmax(task, label_smoothing=0.0, loss_chunk_size=0, sentence_avg=False)
    torch.testing.assert_close(full(model, batch)[0], expected, rtol=1e-10, atol=0)


def test_translation_between_updates_uses_the_parameters_of_the_moment(
    model, criterion, task, batch
):
    search = SequenceGenerator([model], task.target_dictionary, beam_size=2, max_len_b=6)
    for update in range(2):
        train(model, criterion, batch, update)
        model.eval()
        found = search.generate([model], batch)
        fresh = copy.deepcopy(model).train()  # nothing computed before is kept
        for index, (best, *_) in enumerate(found):
            source = batch["net_input"]["src_tokens"][index : index + 1]
            length = batch["net_input"]["src_lengths"][index : index + 1]
            tokens = best["tokens"].unsqueeze(0)
            previous = torch.cat([tokens[:, -1:], tokens[:, :-1]], 1)
            logits, _ = fresh(source, length, previous)
            scores = logits.log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).squeeze()
            torch.testing.assert_close(
                best["positional_scores"], scores.float(), rtol=1e-4, atol=1e-5
            )


def test_candidates_after_training_are_columns_of_all_scores(model, criterion, batch):
    train(model, criterion, batch, update=0)
    hidden, _ = model.eval()(**batch["net_input"], features_only=True)
    layer = model.decoder.output_projection
    candidates = torch.tensor([[2, 9, 4], [2, 3, 20], [7, 2, 5]])
    with torch.no_grad():
        full = layer(hidden)
        expected = torch.stack([full[b][:, candidates[b]] for b in range(3)])
        torch.testing.assert_close(layer.logits(hidden, candidates), expected)
