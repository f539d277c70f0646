"""Every model with every output layer under ``--optimizer lazy_adam`` and a sampled softmax."""

import copy

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY

from fairseq_outlayers.criterions.sampled_softmax import SampledSoftmax, SampledSoftmaxConfig
from fairseq_outlayers.optim.row_adam import RowAdam
from fairseq_outlayers.optim.tables import make_row_sparse, row_sparse_parameters
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TRANSLATION_ARCHITECTURES,
    make_batch,
    make_language_batch,
    make_model,
    make_task,
)

ARCHITECTURES = [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES]
# Every architecture and every output layer once or more: where tables are, and how they are used.
PAIRS = {("luong_lstm", layer) for layer in OUTPUT_LAYERS} | {(a, "tied") for a in ARCHITECTURES}
pytestmark = pytest.mark.parametrize(("arch", "layer"), sorted(PAIRS))
WORDS = {34, 44}  # of the source and the target, special symbols included


@pytest.fixture
def task(arch):
    task = make_task(num_source=30, num_target=40)
    if arch in LANGUAGE_MODEL_ARCHITECTURES:
        task.source_dictionary = task.target_dictionary
    return task


@pytest.fixture
def batch(task, arch):
    if arch in LANGUAGE_MODEL_ARCHITECTURES:
        return make_language_batch(task, [4, 2])
    return make_batch(task, [(4, 5), (1, 3)])


@pytest.fixture
def model(task, arch, layer):
    return make_model(arch, task, output_layer=layer).train()


@pytest.fixture
def criterion(task):
    config = SampledSoftmaxConfig(sampler="uniform", num_sampled=8)
    config.sentence_avg, config.seed = False, 1
    return SampledSoftmax.build_criterion(config, task).train()


def test_row_sparse_gradients_equal_dense_ones_and_every_table_has_them(model, criterion, batch):
    lazy = copy.deepcopy(model)
    names = make_row_sparse(lazy)
    for each in (model, lazy):
        loss, _, _ = copy.deepcopy(criterion)(
            each, batch
        )  # which would draw anew for a second batch
        loss.backward()
    expected = dict(model.named_parameters())
    sparse = {id(parameter) for parameter in row_sparse_parameters(lazy)}
    for name, parameter in lazy.named_parameters():
        is_table = parameter.dim() > 0 and len(parameter) in WORDS
        assert parameter.grad.is_sparse == (id(parameter) in sparse) == is_table, name
        assert (name in names) == is_table
        gradient = parameter.grad.to_dense() if is_table else parameter.grad
        torch.testing.assert_close(gradient, expected[name].grad, rtol=1e-12, atol=1e-15)
    assert len(names) >= 2  # an embedding and the classes' bias


def test_rows_that_a_batch_does_not_use_stay_bit_for_bit(model, criterion, batch):
    names = make_row_sparse(model)
    before = copy.deepcopy(dict(model.named_parameters()))
    optimizer = RowAdam(model.parameters(), lr=0.1)
    loss, _, _ = criterion(model, batch)
    loss.backward()
    optimizer.step()
    for name, table in model.named_parameters():
        if name in names:
            used = table.grad.coalesce().indices()[0].tolist()
            assert 0 < len(used) < len(table)
            for row in range(len(table)):
                is_used = row in used and bool(table.grad.to_dense()[row].any())
                assert torch.equal(table[row], before[name][row]) == (not is_used), (name, row)


def test_the_full_softmax_has_dense_gradients_and_updates_as_dense_adam(model, task, batch):
    criterion = CRITERION_REGISTRY["full_softmax"](task, 0.1, False, 0, False)
    lazy = copy.deepcopy(model)
    make_row_sparse(lazy)
    for each, kind in ((model, torch.optim.AdamW), (lazy, RowAdam)):
        # With eps this large, a gradient's rounding error stays one.
        optimizer = kind(each.parameters(), lr=0.1, eps=1e-2, weight_decay=0)
        loss, _, _ = criterion(each, batch)
        loss.backward()
        optimizer.step()
    for (name, expected), updated in zip(model.named_parameters(), lazy.parameters(), strict=True):
        torch.testing.assert_close(updated, expected, rtol=1e-9, atol=1e-9, msg=name)
