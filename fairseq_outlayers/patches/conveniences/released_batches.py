"""Release the batches of texts that are translated once.

``FairseqTask.get_batch_iterator`` caches the iterator of every data set, to reuse it in the next
epoch. ``fairseq-interactive`` makes a data set of each ``--buffer-size`` lines, so it keeps all of
its input: about 1 KB per line. The patch caches only iterators of the task's splits.
"""

from typing import Any, Callable

from fairseq.tasks import FairseqTask

from fairseq_outlayers.patches.replacing import replaces


# Tasks inherit it.
@replaces(FairseqTask, "get_batch_iterator")
def _cache_splits_only(
    stock: Callable[..., Any], self: Any, dataset: Any, *args: Any, **kwargs: Any
) -> Any:
    iterator = stock(self, dataset, *args, **kwargs)
    if not any(dataset is split for split in self.datasets.values()):
        self.dataset_to_epoch_iter.pop(dataset, None)
    return iterator
