"""Make a resumed run use the batches of the original run.

An uninterrupted run builds its batches once, in epoch 1, and reshuffles them in every epoch. Ties
between sentences of equal length are broken at random, seeded by the epoch in which the batches are
built (``make_batches`` in ``FairseqTask.get_batch_iterator``, fairseq/tasks/fairseq_task.py). A run
that resumes in epoch 2 or later uses that epoch's seed, so it builds other batches, and skips as
many as the original run has trained on. A tenth of the sentences are then missing in that epoch,
and as many are repeated.

The patch builds batches that are cached for all epochs with the seed of epoch 1. Batches that
fairseq rebuilds in every epoch (``--update-epoch-batch-itr``, sharded data, changing data sets)
resume correctly without it.

``--task translation_multi_simple_epoch`` caches the batches of ``--sampling-method RoundRobin``
itself. With ``--virtual-epoch-size`` it draws the sentences of several epochs, a pass through the
data, seeded by the first of them, but in a resumed run by the epoch in which that begins: sentences
of the pass are missing, and others repeated. The patch draws them with the seed of the first.

Validation on the training text would take the next epoch of the same iterator: of three epochs one
was trained. It is refused.
"""

import inspect
from typing import Any, Callable

from fairseq.data.multilingual.sampled_multi_epoch_dataset import SampledMultiEpochDataset
from fairseq.tasks import FairseqTask
from fairseq.tasks.translation_multi_simple_epoch import TranslationMultiSimpleEpochTask
from fairseq.trainer import Trainer

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces

FIRST = "_outlayers_first_epoch_of_pass"
SHARDS = ("load_next_shard", "shard_epoch")  # a pass of virtual epochs goes on to the next shard


# Tasks inherit it.
@replaces(FairseqTask, "get_batch_iterator")
def _use_first_epochs_seed(
    stock: Callable[..., Any], self: Any, dataset: Any, *args: Any, **kwargs: Any
) -> Any:
    call = inspect.signature(stock).bind(self, dataset, *args, **kwargs)
    call.apply_defaults()
    given = call.arguments
    epoch = given["epoch"]
    kept = (
        not given["disable_iterator_cache"]
        and not getattr(self.cfg, "rebuild_batches", False)
        and (
            # It calls this only for --sampling-method RoundRobin.
            isinstance(self, TranslationMultiSimpleEpochTask)
            or (not given["update_epoch_batch_itr"] and self.can_reuse_epoch_itr(dataset))
        )
    )
    if not kept or epoch <= 1 or dataset in self.dataset_to_epoch_iter:
        return stock(self, dataset, *args, **kwargs)
    given["epoch"] = 1
    shards = {name: getattr(dataset, name) for name in SHARDS if hasattr(dataset, name)}
    iterator = stock(*call.args, **call.kwargs)
    dataset.set_epoch(epoch)
    vars(dataset).update(shards)  # building the batches begins no pass
    iterator.epoch = epoch
    return iterator


@replaces(SampledMultiEpochDataset, "_next_virtual_epoch")
def _draw_with_the_first_epochs_seed(stock: Callable[..., Any], self: Any, epoch: int) -> None:
    first = epoch - (epoch - 1) % self.num_virtual_epochs
    # Once a pass: the first epoch also goes on to the next shard of the data.
    if first < epoch and getattr(self, FIRST, None) != first:
        stock(self, first)
    setattr(self, FIRST, first)
    stock(self, epoch)


@replaces(Trainer, "get_train_iterator")
def _refuse_validation_on_training_text(
    stock: Callable[..., Any], self: Any, *args: Any, **kwargs: Any
) -> Any:
    data = self.cfg.dataset
    if not data.disable_validation and data.train_subset in data.valid_subset.split(","):
        raise UserError(
            f"--valid-subset {data.valid_subset}: validation on the training text would take "
            f"its epochs from training; validate a checkpoint by fairseq-validate "
            f"--valid-subset {data.train_subset}, or link the text under another name"
        )
    return stock(self, *args, **kwargs)
