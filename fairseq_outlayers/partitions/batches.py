"""Batches partition by partition."""

from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
from fairseq.data.iterators import EpochBatchIterator, ShardedIterator

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.partitions.plan import Words

Batch = Sequence[int]

CORRECTION = "--partition-correction"  # unknown to older checkpoints, which were not corrected


class Partitions(NamedTuple):
    """What an epoch trains on."""

    words: Dict[str, Words]
    """For each side of which only the words in use are trained."""
    number_of: np.ndarray
    """Partition of every sentence of the training data, -1 for those left out, ``(N,)``."""
    batches: List[List[Batch]]
    """Sentences of each batch, for each partition."""


class PartitionedBatches(EpochBatchIterator):
    """Deals out an epoch's batches in the order of its partitions.

    Within a partition their order is random. Its number is made a multiple of processes x
    ``--update-freq`` by halving the longest, so that all processes are in the same partition at
    every update; only where it has fewer sentences than that are some repeated. The order is a
    function of (seed, epoch), so a resumed run goes on exactly.

    Attributes:
        partitions: of the epoch whose batches are dealt out.

    Args:
        dataset: sentence pairs.
        plan: partitions of an epoch.
        update_freq: batches of each process in an update of an epoch.
        fingerprint: what must be the same in a resumed run; options by name.
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
        super().__init__(
            dataset,
            dataset.collater,
            batch_sampler=lambda *_: self.frozen_batches,
            persistent_workers=False,
            **options,
        )

    def _deal(self, epoch: int, shuffle: bool) -> List[Batch]:
        """All batches of an epoch, partition after partition; the last ones asked for are kept."""
        if self._planned == (epoch, shuffle):
            return self._batches
        self.partitions = self._plan(epoch)
        granule = self.num_shards * self._update_freq(epoch)
        self._batches = []
        for number, batches in enumerate(self.partitions.batches):
            divided = divide(batches, granule)
            generator = np.random.default_rng((self.seed, epoch, number))
            order = generator.permutation(len(divided)) if shuffle else range(len(divided))
            self._batches += [divided[place] for place in order]
        self._planned = (epoch, shuffle)
        return self._batches

    @property
    def frozen_batches(self) -> List[Batch]:
        """All batches of the epoch, before they are dealt out to processes."""
        return self._deal(self.epoch, self.shuffle)

    def ordered_batches(self, epoch: int, fix_batches_to_gpus: bool, shuffle: bool) -> List[Batch]:
        """This process's batches of an epoch."""
        batches = self._deal(epoch, shuffle)
        return list(ShardedIterator(batches, self.num_shards, self.shard_id, fill_value=[]))

    def state_dict(self) -> Dict[str, Any]:
        return {**super().state_dict(), "partitions": self.fingerprint}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        saved = state_dict.get("partitions", {})
        for option, value in self.fingerprint.items():
            if option == CORRECTION:
                before, what = saved.get(option, "none"), "scores of classes"
            else:
                before, what = saved.get(option, "not given"), "partitions"
            if before != value:
                raise UserError(
                    f"the checkpoint was trained with {option} {before}, and this run has {value}, "
                    f"so its {what} are others: make them equal again, or start from its "
                    "parameters with --finetune-from-model"
                )
        super().load_state_dict(state_dict)


def divide(batches: Sequence[Batch], granule: int) -> List[Batch]:
    """Halve the longest batches until their number is a multiple of ``granule``.

    Where the sentences do not suffice, they are repeated in turn. An empty batch would not do:
    fairseq puts a batch of another partition in its place, and one at the end of an update makes
    it forget by how many words to divide the gradient.
    """
    divided, repeated = list(batches), 0
    while len(divided) % granule:
        longest = max(range(len(divided)), key=lambda place: len(divided[place]))
        batch = divided[longest]
        if len(batch) < 2:
            divided.append(divided[repeated])
            repeated += 1
        else:
            divided[longest : longest + 1] = [batch[0::2], batch[1::2]]
    return divided
