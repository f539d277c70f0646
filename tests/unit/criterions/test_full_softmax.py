"""full_softmax against fairseq's own criterions, through real models."""

import math

import pytest
import torch
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.logging import metrics
from fairseq.models.lstm import LSTMDecoder, LSTMEncoder, LSTMModel

from fairseq_outlayers.criterions.full_softmax import FullSoftmax, FullSoftmaxConfig
from fairseq_outlayers.errors import UserError
from tests.conftest import make_batch, make_model

LENGTHS = [(4, 5), (1, 3), (6, 2)]


def full_softmax(task, **options):
    settings = {
        "label_smoothing": 0.0,
        "smooth_real_classes": False,
        "loss_chunk_size": 0,
        "sentence_avg": False,
        **options,
    }
    return FullSoftmax(task, **settings)


def loss_and_gradients(criterion, model, batch):
    model.zero_grad()
    loss, sample_size, logged = criterion(model, batch)
    loss.backward()
    return loss, sample_size, logged, {n: p.grad.clone() for n, p in model.named_parameters()}


@pytest.fixture(params=["linear", "tied"])
def model(request, task):
    return make_model("luong_lstm", task, output_layer=request.param)


@pytest.mark.parametrize("sentence_avg", [False, True])
def test_loss_and_gradients_equal_cross_entropys(task, model, sentence_avg, monkeypatch):
    use_double_log_softmax(monkeypatch)
    batch = make_batch(task, LENGTHS)
    stock = loss_and_gradients(CrossEntropyCriterion(task, sentence_avg), model, batch)
    ours = loss_and_gradients(full_softmax(task, sentence_avg=sentence_avg), model, batch)
    torch.testing.assert_close(ours[0], stock[0], rtol=1e-12, atol=0)
    assert ours[1] == stock[1] == (3 if sentence_avg else 13)
    assert ours[2]["nll_loss"] == ours[2]["loss"]
    for name, gradient in stock[3].items():
        torch.testing.assert_close(ours[3][name], gradient, rtol=1e-9, atol=1e-12, msg=name)


def test_smoothed_loss_and_gradients_equal_label_smoothed_cross_entropys(task, model, monkeypatch):
    use_double_log_softmax(monkeypatch)
    batch = make_batch(task, LENGTHS)
    stock_criterion = LabelSmoothedCrossEntropyCriterion(task, False, label_smoothing=0.1)
    stock = loss_and_gradients(stock_criterion, model, batch)
    ours = loss_and_gradients(full_softmax(task, label_smoothing=0.1), model, batch)
    torch.testing.assert_close(ours[0], stock[0], rtol=1e-12, atol=0)
    torch.testing.assert_close(ours[2]["nll_loss"], stock[2]["nll_loss"], rtol=1e-12, atol=0)
    for name, gradient in stock[3].items():
        torch.testing.assert_close(ours[3][name], gradient, rtol=1e-9, atol=1e-12, msg=name)


def use_double_log_softmax(monkeypatch):
    """fairseq computes log-probabilities in float32; the comparison needs them in float64."""
    monkeypatch.setattr(
        "fairseq.utils.log_softmax", lambda x, dim, onnx_trace=False: torch.log_softmax(x, dim)
    )


def test_padding_gets_no_share_of_the_smoothing_when_asked(task, model):
    batch = make_batch(task, LENGTHS)
    pad = task.target_dictionary.pad()
    logits, _ = model(**batch["net_input"])
    real = batch["target"].ne(pad)
    log_probabilities, targets = logits[real].log_softmax(-1), batch["target"][real]
    q = torch.full_like(log_probabilities, 0.2 / (log_probabilities.size(1) - 2))
    q[:, pad] = 0
    q[torch.arange(len(targets)), targets] = 0.8
    expected = -(q * log_probabilities).sum()
    criterion = full_softmax(task, label_smoothing=0.2, smooth_real_classes=True)
    torch.testing.assert_close(criterion(model, batch)[0], expected, rtol=1e-12, atol=0)
    assert criterion(model, batch)[0] != full_softmax(task, label_smoothing=0.2)(model, batch)[0]


@pytest.mark.parametrize("chunk_size", [1, 5, 1000])
def test_the_chunk_size_changes_nothing_but_memory(task, model, chunk_size):
    batch = make_batch(task, LENGTHS)
    expected = loss_and_gradients(full_softmax(task), model, batch)
    ours = loss_and_gradients(full_softmax(task, loss_chunk_size=chunk_size), model, batch)
    torch.testing.assert_close(ours[0], expected[0], rtol=1e-12, atol=0)
    for name, gradient in expected[3].items():
        torch.testing.assert_close(ours[3][name], gradient, rtol=1e-9, atol=1e-12, msg=name)


def test_the_unreduced_loss_has_one_value_a_real_position(task, model):
    batch = make_batch(task, LENGTHS)
    criterion = full_softmax(task, label_smoothing=0.1)
    each, _, _ = criterion(model, batch, reduce=False)
    assert each.shape == (batch["ntokens"],)
    torch.testing.assert_close(each.sum(), criterion(model, batch)[0], rtol=1e-12, atol=0)


def test_logged_loss_is_in_bits_and_perplexity_comes_from_the_unsmoothed_loss():
    outputs = [
        {"loss": torch.tensor(6.0), "nll_loss": torch.tensor(4.0), "ntokens": 3, "sample_size": 2},
        {"loss": torch.tensor(2.0), "nll_loss": torch.tensor(2.0), "ntokens": 1, "sample_size": 2},
    ]
    with metrics.aggregate(new_root=True) as logged:
        FullSoftmax.reduce_metrics(outputs)
    values = logged.get_smoothed_values()
    assert values["loss"] == pytest.approx(8 / 4 / 0.693147, abs=1e-3)
    assert values["nll_loss"] == pytest.approx(6 / 4 / 0.693147, abs=1e-3)
    assert values["ppl"] == pytest.approx(2.718281 ** (6 / 4), abs=1e-2)


def test_a_model_without_an_output_layer_is_refused_by_name(task):
    encoder = LSTMEncoder(task.source_dictionary, embed_dim=4, hidden_size=4)
    decoder = LSTMDecoder(
        task.target_dictionary, embed_dim=4, hidden_size=4, out_embed_dim=4, encoder_output_units=4
    )
    with pytest.raises(UserError, match=r"full_softmax needs.*LSTMModel.*cross_entropy"):
        full_softmax(task)(LSTMModel(encoder, decoder), make_batch(task, LENGTHS))


def test_a_wrapper_that_would_lose_gradients_is_refused_by_name(task, model):
    batch = make_batch(task, LENGTHS)
    wrapped = DataParallelLookalike(model, find_unused_parameters=True)
    with pytest.raises(UserError, match="--find-unused-parameters"):
        full_softmax(task)(wrapped, batch)
    wrapped.find_unused_parameters = False
    full_softmax(task)(wrapped, batch)
    sharded = type("FullyShardedDataParallel", (DataParallelLookalike,), {})(model)
    with pytest.raises(UserError, match="fully_sharded"):
        full_softmax(task)(sharded, batch)


class DataParallelLookalike(torch.nn.Module):
    """As fairseq's wrapper, it hands on attributes that it lacks."""

    def __init__(self, module, find_unused_parameters=False):
        super().__init__()
        self.module = module
        self.find_unused_parameters = find_unused_parameters

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"label_smoothing": 1.0}, "--label-smoothing 1.0: must be at least 0 and below 1"),
        ({"label_smoothing": math.nan}, "--label-smoothing nan: must be at least 0 and below 1"),
        ({"loss_chunk_size": -1}, "--loss-chunk-size -1: must be at least 0"),
        ({"smooth_real_classes": True}, "--smooth-real-classes .* without --label-smoothing"),
    ],
)
def test_values_without_meaning_are_refused(task, options, said):
    with pytest.raises(UserError, match=said):
        FullSoftmax.build_criterion(FullSoftmaxConfig(**options, sentence_avg=False), task)


def test_figures_of_several_updates_are_weighted_by_what_they_are_divided_by():
    """As with --sentence-avg: the loss by sentences, nll_loss by words."""
    names = ("loss", "nll_loss", "ntokens", "sample_size", "scored_classes", "all_classes")
    with metrics.aggregate(new_root=True) as logged:
        for update in ((6.0, 4.0, 10, 2, 3, 20), (9.0, 8.0, 2, 1, 30, 40)):
            FullSoftmax.reduce_metrics([dict(zip(names, update, strict=True))])
    values = logged.get_smoothed_values()
    assert values["loss"] == pytest.approx(15 / 3 / math.log(2), abs=1e-3)
    assert values["nll_loss"] == pytest.approx(12 / 12 / math.log(2), abs=1e-3)
    assert values["sampled_share"] == pytest.approx(33 / 60, abs=1e-4)


def test_padding_is_left_out_of_the_smoothing_by_the_option(task):
    config = FullSoftmaxConfig(label_smoothing=0.1, smooth_real_classes=True, sentence_avg=False)
    criterion = FullSoftmax.build_criterion(config, task)
    assert criterion.ignore_index == task.target_dictionary.pad()
