"""Batches partition by partition."""

import logging
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
from fairseq.data.iterators import EpochBatchIterator, ShardedIterator

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.partitions.plan import Words

logger = logging.getLogger(__name__)

Batch = Sequence[int]

CORRECTION = "--partition-correction"  # unknown to older checkpoints, which were not corrected


class Partitions(NamedTuple):
    """The partitions of an epoch."""

    words: Dict[str, Words]
    """By side, for sides with a working set."""
    number_of: np.ndarray
    """Partition of every sentence of the training data, -1 for those left out, ``(N,)``."""
    batches: List[List[Batch]]
    """Sentences of each batch, for each partition."""


class NumberedCollater:
    """Collates sentences, and adds ``"partition"``: the epoch and the number of their partition.

    Python numbers: the ids of the sentences are on the device once the trainer has the batch, and
    reading them there would wait for it.

    Args:
        collater: of the dataset.
    """

    epoch: int
    number_of: np.ndarray
    """In this epoch, see :class:`Partitions`."""

    def __init__(self, collater: Callable[..., Dict[str, Any]]):
        self.collater = collater

    def __call__(self, samples: List[Dict[str, Any]]) -> Dict[str, Any]:
        batch = self.collater(samples)
        if batch:
            numbers = {int(self.number_of[sample["id"]]) for sample in samples}
            assert len(numbers) == 1, f"a batch has sentences of the partitions {numbers}"
            batch["partition"] = self.epoch, numbers.pop()
        return batch


class PartitionedBatches(EpochBatchIterator):
    """Iterates over an epoch's batches partition by partition.

    Batches within a partition are of similar length, and shuffled (the authors keep one order, and
    sort pools of 20 batches). Their number is made a multiple of processes x
    ``--update-freq`` by halving the longest, so that all processes are in the same partition at
    every update; sentences are repeated only if a partition has fewer than that. The order is a
    function of (seed, epoch), so resuming is exact.

    Attributes:
        partitions: of the current epoch.

    Args:
        dataset: sentence pairs.
        plan: returns the partitions of an epoch.
        update_freq: returns the ``--update-freq`` of an epoch.
        fingerprint: options by name that must not change in a resumed run.
        options: of fairseq's ``EpochBatchIterator``.
    """

    def __init__(
        self,
        dataset: Any,
        plan: Callable[[int], Partitions],
        update_freq: Callable[[int], int],
        fingerprint: Dict[str, Any],
        **options: Any,
    ):
        self._plan, self._update_freq, self.fingerprint = plan, update_freq, fingerprint
        self._planned: Tuple[int, bool] = (-1, True)
        self._batches: List[Batch] = []
        self._collater = NumberedCollater(dataset.collater)
        super().__init__(
            dataset,
            self._collater,
            batch_sampler=lambda *_: self.frozen_batches,
            persistent_workers=False,
            **options,
        )

    def _batches_of_epoch(self, epoch: int, shuffle: bool) -> List[Batch]:
        """All batches of an epoch, partition by partition; the last result is cached."""
        if self._planned == (epoch, shuffle):
            return self._batches
        self.partitions = self._plan(epoch)
        if self._planned[0] < 0 and len(self.partitions.batches) == 1:
            self._warn_of_one_partition()
        self._collater.epoch, self._collater.number_of = epoch, self.partitions.number_of
        multiple_of = self.num_shards * self._update_freq(epoch)
        self._batches = []
        for number, batches in enumerate(self.partitions.batches):
            divided = divide(batches, multiple_of)
            generator = np.random.default_rng((self.seed, epoch, number))
            order = generator.permutation(len(divided)) if shuffle else range(len(divided))
            self._batches += [divided[index] for index in order]
        self._planned = (epoch, shuffle)
        return self._batches

    def _warn_of_one_partition(self) -> None:
        sizes = [f"{len(words.of(0))} {side}" for side, words in self.partitions.words.items()]
        logger.warning(
            "--partition-size %s: the whole training text is one partition, whose %s words fit, so "
            "training is as slow as without partitions: choose a smaller one",
            self.fingerprint.get("--partition-size"),
            " and ".join(sizes),
        )

    def partition_of(self, sample: Dict[str, Any]) -> int:
        """The number of the partition that a collated batch is from."""
        epoch, number = sample["partition"]
        if epoch == self._planned[0]:
            return int(number)
        # fairseq's dummy batch is of the first epoch.
        return int(self.partitions.number_of[int(sample["id"][0])])

    @property
    def frozen_batches(self) -> List[Batch]:
        """All batches of the epoch, before sharding."""
        return self._batches_of_epoch(self.epoch, self.shuffle)

    def ordered_batches(self, epoch: int, fix_batches_to_gpus: bool, shuffle: bool) -> List[Batch]:
        """This process's batches of an epoch."""
        batches = self._batches_of_epoch(epoch, shuffle)
        return list(ShardedIterator(batches, self.num_shards, self.shard_id, fill_value=[]))

    def state_dict(self) -> Dict[str, Any]:
        return {**super().state_dict(), "partitions": self.fingerprint}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        saved = state_dict.get("partitions", {})
        for option, value in self.fingerprint.items():
            is_correction = option == CORRECTION
            before = saved.get(option, "none" if is_correction else "not given")
            if before == value:
                continue
            what, first = ("scores of classes" if is_correction else "partitions"), ""
            if is_correction and before == "none":
                first = "correct it (python -m fairseq_outlayers partition-correction) and "
            raise UserError(
                f"the checkpoint was trained with {option} {before}, but this run has {value}, so "
                f"the {what} differ: use the same value, or {first}start from its parameters with "
                "--finetune-from-model"
            )
        super().load_state_dict(state_dict)


def divide(batches: Sequence[Batch], multiple_of: int) -> List[Batch]:
    """Halve the longest batches until their number is a multiple of ``multiple_of``.

    If there are too few sentences, they are repeated. Empty batches are not an option: fairseq
    replaces them by a batch of another partition, and with one at the end of an update it loses the
    word count that normalizes the gradient.
    """
    divided, repeated = list(batches), 0
    while len(divided) % multiple_of:
        longest = max(range(len(divided)), key=lambda index: len(divided[index]))
        batch = divided[longest]
        if len(batch) < 2:
            divided.append(divided[repeated])
            repeated += 1
        else:
            divided[longest : longest + 1] = [batch[0::2], batch[1::2]]
    return divided
