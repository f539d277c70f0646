"""Epochs after those of --curriculum are shuffled, also by a data loader that is kept."""

import numpy as np
import pytest
from fairseq.data import FairseqDataset
from fairseq.data.iterators import EpochBatchIterator


class Numbers(FairseqDataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return index

    def collater(self, samples):
        return samples


def iterator(reuse):
    data = Numbers()
    return EpochBatchIterator(
        data, data.collater, [[n, n + 1] for n in range(0, 40, 2)], seed=5, reuse_dataloader=reuse
    )


def epochs(iterator, curriculum, last):
    return [
        list(iterator.next_epoch_itr(shuffle=iterator.next_epoch_idx > curriculum))
        for _ in range(last)
    ]


@pytest.mark.parametrize("curriculum", [0, 1, 2])
def test_a_kept_loader_gives_the_batches_of_a_new_one(curriculum):
    kept, new = (epochs(iterator(reuse), curriculum, 4) for reuse in (True, False))
    assert kept == new
    in_order = [list(np.ravel(batches)) == list(range(40)) for batches in kept]
    assert in_order == [number <= curriculum for number in (1, 2, 3, 4)]


def test_a_run_resumed_after_the_curriculum_continues_with_the_same_batches():
    unbroken, resumed = iterator(True), iterator(True)
    epochs(unbroken, 1, 1)
    second = unbroken.next_epoch_itr(shuffle=True)
    before = [next(second) for _ in range(7)]
    resumed.load_state_dict(unbroken.state_dict())
    rest = list(resumed.next_epoch_itr(shuffle=True))
    assert rest == list(second)
    assert len(before) + len(rest) == 20
