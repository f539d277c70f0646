"""Count all words of an epoch's last update in data-parallel training.

The processes get equally many batches: fairseq fills up with empty ones (``ShardedIterator`` in
fairseq/data/iterators.py), for which a process computes a gradient times zero. If ``--update-freq``
is above 1, ``Trainer.train_step`` (fairseq/trainer.py) looks only at a process's last batch: if it
is empty, the words and statistics of its other batches are dropped, too, although their gradients
count. So the gradients of the update are divided by too few words.

The patch drops empty batches where a process has others. A process without any keeps one: all of
them reduce gradients once, in their last batch. Where they reduce in every batch, no batch is
dropped (``--ddp-backend fully_sharded``, criterions with parameters, wrappers without ``no_sync``).
"""

from typing import Any, Callable, List

from fairseq import utils
from fairseq.trainer import Trainer

from fairseq_outlayers.patches.replacing import replaces


@replaces(Trainer, "train_step")
def _drop_empty_batches(
    stock: Callable[..., Any], self: Any, samples: List[Any], *args: Any, **kwargs: Any
) -> Any:
    if _reduces_once(self):
        samples = [sample for sample in samples if sample] or samples[:1]
    return stock(self, samples, *args, **kwargs)


def _reduces_once(trainer: Any) -> bool:
    """Whether gradients are reduced in the last batch of an update alone."""
    if trainer.data_parallel_world_size == 1:
        return True
    in_every_batch = trainer.is_fsdp or utils.has_parameters(trainer.get_criterion())
    return hasattr(trainer.model, "no_sync") and not in_every_batch
