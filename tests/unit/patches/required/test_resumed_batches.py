"""Every sentence is trained once in an epoch that a second process goes on with."""

from collections import Counter, OrderedDict
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.data import FairseqDataset, SampledMultiDataset, SampledMultiEpochDataset
from fairseq.tasks import FairseqTask
from fairseq.tasks.translation_multi_simple_epoch import TranslationMultiSimpleEpochTask

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.required.resumed_batches import _refuse_validation_on_training_text

LENGTHS = np.random.RandomState(1).randint(2, 6, size=200)  # many ties


class Sentences(FairseqDataset):
    """Sentences without words, ordered by length, ties at random, as translation orders them."""

    def __getitem__(self, index):
        return index

    def __len__(self):
        return len(LENGTHS)

    def num_tokens(self, index):
        return LENGTHS[index]

    def num_tokens_vec(self, indices):
        return LENGTHS[indices]

    def size(self, index):
        return LENGTHS[index]

    def ordered_indices(self):
        shuffled = np.random.permutation(len(self))
        return shuffled[np.argsort(LENGTHS[shuffled], kind="mergesort")]

    def collater(self, samples):
        return torch.tensor(samples)


def iterator(epoch, dataset=None, task=None, **options):
    task = task or FairseqTask(None)
    options = {"max_tokens": 30, "seed": 7, **options}
    return task.get_batch_iterator(dataset or Sentences(), epoch=epoch, **options)


def epochs(number, **options):
    """The batches of each epoch of an unbroken run."""
    task, dataset, found = FairseqTask(None), Sentences(), []
    for epoch in range(1, number + 1):
        batches = iterator(epoch, dataset, task, **options).next_epoch_itr()
        found.append([tuple(batch.tolist()) for batch in batches])
    return found


@pytest.mark.parametrize("done", [0, 1, 13])
@pytest.mark.parametrize("epoch", [1, 2, 5])
def test_a_resumed_epoch_goes_on_with_the_batches_of_the_unbroken_one(epoch, done):
    resumed = iterator(epoch)
    resumed.load_state_dict({"epoch": epoch, "iterations_in_epoch": done, "version": 2})
    rest = [tuple(batch.tolist()) for batch in resumed.next_epoch_itr()]
    unbroken = epochs(epoch)[-1]
    assert rest == unbroken[done:]
    seen = Counter(index for batch in [*unbroken[:done], *rest] for index in batch)
    assert seen == Counter(range(len(LENGTHS)))


def test_the_epochs_after_the_resumed_one_are_those_of_the_unbroken_run():
    task, dataset = FairseqTask(None), Sentences()
    task.datasets["train"] = dataset  # fairseq caches batches of others as well; we do not
    resumed = iterator(3, dataset, task)
    resumed.load_state_dict({"epoch": 3, "iterations_in_epoch": 5, "version": 2})
    list(resumed.next_epoch_itr())
    following = iterator(4, dataset, task)
    assert following is resumed
    found = [tuple(batch.tolist()) for batch in following.next_epoch_itr()]
    assert following.epoch == 4
    assert found == epochs(4)[-1]


def test_batches_made_anew_for_every_epoch_still_are():
    def ordered(epoch):
        batches = iterator(epoch, update_epoch_batch_itr=True).frozen_batches
        return [tuple(batch) for batch in batches]

    assert ordered(2) != ordered(3)


class Pairs(Sentences):
    sizes = np.stack([LENGTHS, LENGTHS], axis=1)


def multilingual(sampling, virtual_epoch_size, epoch):
    """A task of several languages, here of one, and its data set as loaded in an epoch."""
    task = TranslationMultiSimpleEpochTask.__new__(TranslationMultiSimpleEpochTask)
    FairseqTask.__init__(task, None)
    task.args = SimpleNamespace(sampling_method=sampling)
    make = SampledMultiDataset
    if virtual_epoch_size is not None:
        make = partial(SampledMultiEpochDataset, virtual_epoch_size=virtual_epoch_size)
    ratios = None if sampling == "RoundRobin" else [1.0]
    pairs = OrderedDict(pair=Pairs())
    dataset = make(pairs, ratios, epoch=epoch, virtual_size=len(LENGTHS), shared_collater=True)
    return dataset, task


def trained(epoch, dataset, task, done=None, **options):
    """The batches of an epoch, those left if a run is resumed in it."""
    begun = iterator(epoch, dataset, task, **options)
    if done is not None:
        begun.load_state_dict({"epoch": epoch, "iterations_in_epoch": done, "version": 2})
    return [tuple(batch.tolist()) for batch in begun.next_epoch_itr()]


@pytest.mark.parametrize("done", [0, 3])
@pytest.mark.parametrize("epoch", [1, 2, 5, 6, 8])
@pytest.mark.parametrize(
    ("sampling", "virtual_epoch_size", "rebuilds"),
    [
        ("temperature", 40, False),
        ("temperature", None, False),
        ("RoundRobin", 40, False),
        ("RoundRobin", None, False),
        ("RoundRobin", None, True),
    ],
)
def test_a_resumed_multilingual_epoch_goes_on(sampling, virtual_epoch_size, rebuilds, epoch, done):
    """Five virtual epochs are a pass through the data."""
    options = {"update_epoch_batch_itr": rebuilds}
    parts = multilingual(sampling, virtual_epoch_size, 1)
    unbroken = [trained(number, *parts, **options) for number in range(1, epoch + 2)]
    resumed = multilingual(sampling, virtual_epoch_size, epoch)
    assert trained(epoch, *resumed, done=done, **options) == unbroken[epoch - 1][done:]
    assert trained(epoch + 1, *resumed, **options) == unbroken[epoch]


@pytest.mark.parametrize("sampling", ["temperature", "RoundRobin"])
@pytest.mark.parametrize("begins", [1, 3])
def test_the_next_shard_of_multilingual_data_comes_after_a_pass(begins, sampling):
    dataset, task = multilingual(sampling, 40, begins)
    for epoch in range(begins, 6):
        trained(epoch, dataset, task)
        assert (dataset.load_next_shard, dataset.shard_epoch) == (False, 1)
    dataset.set_epoch(6)
    assert (dataset.load_next_shard, dataset.shard_epoch) == (True, 2)


@pytest.mark.parametrize("subsets", ["train", "valid,train"])
def test_validation_on_the_training_text_is_refused(subsets):
    """It would take epochs from training, whose iterator it gets."""
    data = SimpleNamespace(train_subset="train", valid_subset=subsets, disable_validation=False)
    trainer = SimpleNamespace(cfg=SimpleNamespace(dataset=data))
    get_train_iterator = partial(_refuse_validation_on_training_text, lambda *_, **__: None)
    with pytest.raises(UserError, match=f"--valid-subset {subsets}: .* fairseq-validate"):
        get_train_iterator(trainer, epoch=1)
    data.disable_validation = True
    get_train_iterator(trainer, epoch=1)
