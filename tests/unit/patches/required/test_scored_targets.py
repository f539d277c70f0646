"""fairseq's scorer against itself, with and without a table of all scores."""

import inspect

import pytest
import torch
from fairseq.sequence_scorer import SequenceScorer

from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import TRANSLATION_ARCHITECTURES, make_batch, make_model, make_task
from tests.unit.losses.test_full import LargestTensor

LENGTHS = [(4, 5), (1, 3), (6, 2), (3, 3)]
# Without the patch; fairseq's own method, which torch.no_grad has wrapped.
STOCK = inspect.unwrap(SequenceScorer.generate)


class LargestInMemory(LargestTensor):
    """The same by memory: fairseq gets an expanded tensor, of one number per position."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in torch.utils._pytree.tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                held = tensor.untyped_storage().nbytes() // tensor.element_size()
                self.elements = max(self.elements, held)
        return result


def models_of(arch, task, count=1, **options):
    return [make_model(arch, task, seed=seed, **options).eval() for seed in range(count)]


def probabilities_of_one_at_a_time(models, batch, scorer):
    """Of each sentence. fairseq adds attentions in place, which may be expanded."""
    with torch.no_grad():
        found = [STOCK(scorer, [model], batch) for model in models]
    rows = zip(*([row[0]["positional_scores"].exp() for row in one] for one in found), strict=True)
    return [torch.stack(row).mean(0) for row in rows]


def check(models, task, **options):
    batch = make_batch(task, LENGTHS)
    scorer = SequenceScorer(task.target_dictionary, **options)
    expected = probabilities_of_one_at_a_time(models, batch, SequenceScorer(task.target_dictionary))
    found = scorer.generate(models, batch)
    assert len(found) == len(LENGTHS)
    for (row,), probabilities, target in zip(found, expected, batch["target"], strict=True):
        # fairseq's log-softmax is in float32, whatever the model is in.
        torch.testing.assert_close(row["positional_scores"].exp().float(), probabilities)
        torch.testing.assert_close(row["score"].float(), probabilities.log().mean())
        assert row["tokens"].tolist() == [word for word in target.tolist() if word != 1]
    return found


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("softmax_batch", [None, 5])
@pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)
def test_every_architecture_scores_as_before(arch, softmax_batch, number):
    task = make_task(num_source=20, num_target=23)
    check(models_of(arch, task, number), task, softmax_batch=softmax_batch)


@pytest.mark.parametrize("layer", OUTPUT_LAYERS)
def test_every_output_layer_scores_as_before(layer):
    task = make_task(num_source=20, num_target=23)
    check(models_of("luong_lstm", task, output_layer=layer), task)


def test_alignments_equal_those_of_fairseqs_scorer():
    task = make_task(num_source=20, num_target=23)
    models, batch = models_of("luong_lstm", task), make_batch(task, LENGTHS)
    scorer = SequenceScorer(task.target_dictionary, compute_alignment=True)
    with torch.no_grad():
        expected = STOCK(scorer, models, batch)
    for (found,), (row,) in zip(scorer.generate(models, batch), expected, strict=True):
        assert found["alignment"] == row["alignment"] != []
        torch.testing.assert_close(found["attention"], row["attention"])


def test_a_model_with_a_softmax_of_its_own_is_scored_by_it(monkeypatch):
    task = make_task(num_source=20, num_target=23)
    (model,), batch = models_of("luong_lstm", task), make_batch(task, LENGTHS)
    scorer = SequenceScorer(task.target_dictionary)
    plain = scorer.generate([model], batch)
    stock = type(model).get_normalized_probs
    monkeypatch.setattr(
        type(model), "get_normalized_probs", lambda *args, **more: stock(*args, **more) - 1
    )
    for (found,), (row,) in zip(scorer.generate([model], batch), plain, strict=True):
        expected = (row["positional_scores"] - 1).float()
        torch.testing.assert_close(found["positional_scores"], expected)


def test_no_tensor_has_all_classes_at_all_positions():
    task, classes = make_task(num_source=20, num_target=3000), 3004
    models, batch = models_of("luong_lstm", task), make_batch(task, [(3, 3)] * 200)
    sizes = []
    for generate in (SequenceScorer.generate, STOCK):
        with LargestInMemory() as largest, torch.no_grad():
            generate(SequenceScorer(task.target_dictionary), models, batch)
        sizes.append(largest.elements)
    assert sizes[0] < 200 * 4 * classes == sizes[1]
