"""Training by partitions on an accelerator, the tables on either side."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.data import LanguagePairDataset, ListDataset
from fairseq.optim.adam import Adam

from fairseq_outlayers.partitions.training import READ
from fairseq_outlayers.partitions.working_set import WorkingSet
from fairseq_outlayers.tasks.translation_outlayers import (
    TranslationOutlayersConfig,
    TranslationOutlayersTask,
)
from tests.conftest import make_batch, make_dictionary, make_model, make_task
from tests.contract.test_partitions import by_local_ids, make_criterion, words_of
from tests.devices import DEVICES, TOLERANCES, device_of_kind, to_device

LENGTHS = [(4, 5), (1, 3), (6, 2)]


def losses(device, table_device, counted=None):
    """Of three updates in two partitions and of validation; and the whole tables after that."""
    task = make_task(num_source=30, num_target=40)
    batch = make_batch(task, LENGTHS)
    words = [words_of(batch, extra=extra) for extra in ([30, 43], [31, 20])]
    model = make_model("luong_lstm", task, output_layer="linear").float().train()
    if device.type not in ("cpu", "cuda"):
        model.to(device)  # its parameters are other objects then, but for a real device
    working_set = WorkingSet(
        model, len(words[0]["target"]) + 3, len(words[0]["source"]) + 2, table_device
    )
    model.to(device)
    optimizer, batch = Adam(model.parameters(), lr=1e-2), to_device(batch, device)
    criterion, found = make_criterion(task, label_smoothing=0.1), []
    for words_in_use in (words[0], words[1], words[0], words[0]):
        working_set.activate(words_in_use, optimizer)
        working_set.end_evaluation()
        if counted is not None:
            counted.forget()
        loss, _, _ = criterion(model, by_local_ids(working_set, batch))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        found.append(loss.detach())
    costs = None if counted is None else sum(counted.waits.values())
    model.eval(), criterion.eval()
    with torch.no_grad():
        inputs = batch["net_input"]
        specials = torch.arange(4, device=device)
        read = {side: inputs[name].flatten() for side, name in READ.items()}
        working_set.begin_evaluation(
            {side: torch.cat([specials, ids]).unique() for side, ids in read.items()}
        )
        local = {name: working_set.to_local_ids(s, inputs[name]) for s, name in READ.items()}
        batch = {**batch, "net_input": {**inputs, **local}}
        found.append(criterion(model, batch)[0])
    tables = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    return SimpleNamespace(losses=[x.cpu() for x in found], tables=tables, waits=costs)


def corpus_and_task():
    """Forty sentences in partitions of 14 words, and their task."""
    dictionary, draw = make_dictionary(30), np.random.default_rng(1)
    rows = [torch.tensor([*draw.integers(4, 34, 3), 2]) for _ in range(40)]
    sides = [ListDataset(rows, [4] * 40) for _ in range(2)]
    source, target = ((side, side.sizes, dictionary) for side in sides)
    data = LanguagePairDataset(*source, *target)
    config = TranslationOutlayersConfig(partition_size=14)
    config.train_subset = "train"
    task = TranslationOutlayersTask(config, dictionary, dictionary)
    task.datasets["train"] = data
    return data, task


def test_a_step_of_the_task_waits_only_where_the_partition_changes():
    data, task = corpus_and_task()
    iterator = task.get_batch_iterator(data, max_sentences=2, num_shards=1)
    batches = list(iterator.next_epoch_itr(shuffle=False))[:8]
    criterion, waits = make_criterion(make_task()), []
    with device_of_kind("pretended") as device:
        model = make_model("luong_lstm", task, output_layer="linear").float().train()
        model.to(device.device)
        task._working_set = WorkingSet(model, 14, None)
        model.to(device.device)
        adam = Adam(model.parameters(), lr=1e-2)
        optimizer = SimpleNamespace(optimizer=adam, backward=lambda loss: loss.backward())
        for number, batch in enumerate(batches):
            sample = to_device(batch, device.device)
            device.forget()
            task.train_step(sample, model, criterion, optimizer, number)
            waits.append((batch["partition"][1], sum(device.waits.values())))
            adam.zero_grad(set_to_none=True)
        model.eval(), criterion.eval()
        device.forget()
        task.valid_step(sample, model, criterion)
        assert sum(device.waits.values()) == 0
    again = [(one, w) for (before, _), (one, w) in pairwise(waits) if one == before]
    assert again
    assert all(count == 0 for _, count in again)


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("table_device", [None, torch.device("cpu")], ids=["model", "cpu"])
def test_losses_validation_and_tables_equal_the_cpus(kind, table_device):
    expected = losses(torch.device("cpu"), table_device)
    with device_of_kind(kind) as device:
        found = losses(device.device, table_device, device)
    close = {"rtol": TOLERANCES[kind], "atol": TOLERANCES[kind]}
    torch.testing.assert_close(found.losses, expected.losses, **close)
    # Adam may move a number with a gradient near zero by either sign of the learning rate.
    apart = [
        ((found.tables[name] - table).abs() > 1e-4).float().mean()
        for name, table in expected.tables.items()
    ]
    assert max(apart) < 0.02
    assert found.waits == 0
