"""Perplexities are those of the words that criterions score."""

import math
from unittest.mock import Mock

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.criterions.label_smoothed_cross_entropy_with_rdrop import (
    RdropLabelSmoothedCrossEntropyCriterion,
)
from fairseq.data import MonolingualDataset, TokenBlockDataset
from fairseq.logging import metrics

from fairseq_outlayers.criterions.features import hidden_and_targets
from tests.conftest import make_batch, make_model, make_task
from tests.devices import DEVICES, device_of_kind

PAD = 1
LENGTHS = [(4, 5), (1, 3), (6, 2), (3, 3)]  # target words without </s>


def perplexity(criterion, model, batch):
    """As validation prints it."""
    with torch.no_grad():
        _, _, logged = criterion(model, batch)
    with metrics.aggregate() as found:
        criterion.reduce_metrics([logged])
    return found.get_smoothed_values()["ppl"]


@pytest.fixture
def parts():
    task = make_task(num_source=20, num_target=23)
    return task, make_model("luong_lstm", task).eval(), make_batch(task, LENGTHS)


# fairseq's R-drop does not work with a prefix.
@pytest.mark.parametrize(
    ("kind", "prefix"), [("plain", 0), ("plain", 1), ("plain", 3), ("rdrop", 0)]
)
def test_the_perplexity_is_that_of_the_words_behind_the_prefix(kind, prefix, parts):
    task, model, batch = parts
    options = {"sentence_avg": False, "label_smoothing": 0.1, "ignore_prefix_size": prefix}
    scores = torch.log_softmax(model(**batch["net_input"])[0], dim=-1)
    words = batch["target"][:, prefix:]
    of_words = scores[:, prefix:].gather(2, words.unsqueeze(2)).squeeze(2)
    expected = math.exp(-of_words[words != PAD].mean().item())
    criterion = (
        LabelSmoothedCrossEntropyCriterion(task, **options)
        if kind == "plain"
        else RdropLabelSmoothedCrossEntropyCriterion(task, rdrop_alpha=2.0, **options)
    )
    assert perplexity(criterion, model, batch) == pytest.approx(expected, rel=1e-3)


def test_a_batch_without_words_behind_the_prefix_counts_nothing_and_is_named_once(parts, caplog):
    """Sorted by length, one batch of a validation set may well be of short sentences only."""
    task, model, batch = parts
    criterion = LabelSmoothedCrossEntropyCriterion(task, False, 0.1, ignore_prefix_size=6)
    for _ in range(2):
        loss, _, logged = criterion(model, batch)
    loss.backward()
    assert loss.item() == 0
    assert perplexity(criterion, model, batch) == 1  # nothing is divided by zero
    other = {**logged, "nll_loss": torch.tensor(30.0), "ntokens": 10}
    with metrics.aggregate() as found:
        criterion.reduce_metrics([logged, other])
    assert found.get_smoothed_values()["nll_loss"] == pytest.approx(30 / 11 / math.log(2), abs=1e-3)
    assert caplog.text.count("--ignore-prefix-size 6: no sentence of a batch has more") == 1


@pytest.mark.parametrize("kind", DEVICES)
def test_padding_in_the_text_of_a_language_model_is_no_word_to_score(kind):
    """fairseq-preprocess warns of the word <pad> and goes on."""
    dictionary = make_task(num_source=20, num_target=20).source_dictionary
    texts = [torch.tensor([5, PAD, 6, 2]), torch.tensor([7, 8, 2]), torch.tensor([PAD, 2])]
    blocks = TokenBlockDataset(
        texts, [len(text) for text in texts], 10, dictionary.pad(), 2, break_mode="eos"
    )
    data = MonolingualDataset(blocks, blocks.sizes, dictionary)
    batch = data.collater([data[number] for number in range(3)])
    assert batch["ntokens"] == 3 + 3 + 1
    with device_of_kind(kind) as device:
        batch["target"] = batch["target"].to(device.device)
        states = torch.zeros(3, 4, 2).to(device.device)
        model = Mock(return_value=(states, None), get_targets=lambda sample, _: sample["target"])
        _, targets = hidden_and_targets(model, batch, PAD)
        assert targets.cpu().tolist() == [5, 6, 2, 7, 8, 2, 2]
