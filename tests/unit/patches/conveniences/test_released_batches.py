"""Batches of a text that is translated once do not stay in memory."""

import torch
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from tests.conftest import make_task


def make_translation_task():
    words = make_task(num_source=10, num_target=10)
    return TranslationTask(TranslationConfig(), words.source_dictionary, words.target_dictionary)


def test_only_batches_of_splits_are_kept():
    task = make_translation_task()
    split, line = (
        task.build_dataset_for_inference([torch.tensor([5, 6, 2])], [3]) for _ in range(2)
    )
    task.datasets["test"] = split
    for dataset in (split, line):
        batches = task.get_batch_iterator(dataset=dataset, max_tokens=100).next_epoch_itr()
        assert [batch["id"].tolist() for batch in batches] == [[0]]
    assert list(task.dataset_to_epoch_iter) == [split]
