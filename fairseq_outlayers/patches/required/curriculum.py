"""Shuffle again after the epochs of ``--curriculum``.

fairseq keeps the data loader of a split from epoch to epoch, and its sampler of batches keeps the
``shuffle`` of the first one (``EpochBatchIterator._get_iterator_for_epoch``,
fairseq/data/iterators.py). So ``--curriculum 1``, which leaves the batches of epoch 1 in order,
does so in all epochs, until the run is resumed: the new process shuffles.
"""

from typing import Any, Callable

from fairseq.data.iterators import EpochBatchIterator

from fairseq_outlayers.patches.replacing import replaces


@replaces(EpochBatchIterator, "_get_iterator_for_epoch")
def _update_shuffle(
    stock: Callable[..., Any], self: Any, epoch: int, shuffle: bool, *args: Any, **kwargs: Any
) -> Any:
    sampler = getattr(self, "epoch_batch_sampler", None)
    if sampler is not None:
        sampler.shuffle = shuffle
    return stock(self, epoch, shuffle, *args, **kwargs)
