"""Partitions and batches of the training text (Jean et al. 2015, Sec. 3.1)."""

from typing import Any, Dict, List, Optional

import numpy as np
from fairseq import utils
from fairseq.tasks import FairseqTask

from fairseq_outlayers.partitions.batches import CORRECTION, PartitionedBatches
from fairseq_outlayers.partitions.corpus import CorpusPartitions, corpus_side
from fairseq_outlayers.partitions.options import partition_limits
from fairseq_outlayers.partitions.shares import pooled_log_shares


class PartitionedText(FairseqTask):
    """Mix-in for a translation task: divides its training text, and iterates over the partitions.

    Attributes:
        corrected: whether training scores are corrected by log shares.
        update_freq: batches per update, by epoch.
        batches: those of the training text, once they are made.
    """

    cfg: Any
    source_dictionary: Any
    target_dictionary: Any
    corrected = False
    update_freq: List[int] = [1]  # noqa: RUF012 - never changed
    batches: Optional[PartitionedBatches] = None

    def limits(self) -> Dict[str, int]:
        """The maximal number of words of a partition, by limited side."""
        return partition_limits(self.cfg, len(self.source_dictionary), len(self.target_dictionary))

    def get_batch_iterator(self, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        """Partitioned batches for the training data, fairseq's batches otherwise."""
        limits = self.limits()
        if not limits or dataset is not self.datasets.get(self.cfg.train_subset):
            return super().get_batch_iterator(dataset, *args, **kwargs)
        options = dict(zip(_POSITIONAL, args, strict=False), **kwargs)
        cached = not options.get("disable_iterator_cache")
        if cached and dataset in self.dataset_to_epoch_iter:
            return self.dataset_to_epoch_iter[dataset]
        partitions = self.partitions_of(dataset, limits, options)
        self.start_text(partitions, options)
        batches = PartitionedBatches(
            dataset,
            partitions,
            lambda epoch: self.update_freq[min(epoch, len(self.update_freq)) - 1],
            self._fingerprint(options),
            **{name: options[name] for name in _ITERATOR_OPTIONS if name in options},
            buffer_size=options.get("data_buffer_size", 0),
        )
        self.batches = batches
        if cached:
            self.dataset_to_epoch_iter[dataset] = batches
        return batches

    def start_text(self, partitions: CorpusPartitions, options: Dict[str, Any]) -> None:
        """Called with the partitions of the training text before its batches are made.

        Args:
            partitions: of the whole text.
            options: as in :meth:`partitions_of`.
        """

    def log_shares(
        self, options: Dict[str, Any], loaded: Optional[CorpusPartitions] = None
    ) -> np.ndarray:
        """Log share of target tokens in partitions that contain each word, ``(V,)``.

        Of several data folders (``bin1:bin2``), each of which is the text of an epoch, all count.

        Args:
            options: as in :meth:`partitions_of`.
            loaded: partitions of the only folder, if they are known.
        """
        split, limits = self.cfg.train_subset, self.limits()
        folders = len(utils.split_paths(self.cfg.data))
        if folders == 1 and loaded is not None:
            return loaded.log_shares()
        before, found = self.datasets.get(split), []
        for epoch in range(1, folders + 1):
            self.load_dataset(split, epoch=epoch, combine=True)
            found.append(self.partitions_of(self.dataset(split), limits, options).shares())
        if before is not None:
            self.datasets[split] = before
        return pooled_log_shares(found)

    def partitions_of(
        self, dataset: Any, limits: Dict[str, int], options: Dict[str, Any]
    ) -> CorpusPartitions:
        """Partitions of sentence pairs.

        Args:
            dataset: fairseq's sentence pairs.
            limits: of :meth:`limits`.
            options: of fairseq's ``get_batch_iterator``, by name.
        """
        dictionaries = {"target": self.target_dictionary, "source": self.source_dictionary}
        sentences = self.filter_indices_by_size(
            np.arange(len(dataset)),
            dataset,
            options.get("max_positions"),
            options.get("ignore_invalid_inputs", False),
        )
        return CorpusPartitions(
            dataset,
            {side: corpus_side(dataset, dictionaries[side], side, limits[side]) for side in limits},
            sentences,
            seed=options.get("seed", 1) if self.cfg.reshuffle_partitions else None,
            keep_full=str(self.cfg.partition_mode) == "authors",
            max_tokens=options.get("max_tokens"),
            max_sentences=options.get("max_sentences"),
        )

    def _fingerprint(self, options: Dict[str, Any]) -> Dict[str, Any]:
        return {
            "--partition-size": self.cfg.partition_size,
            "--partition-mode": str(self.cfg.partition_mode),
            "--source-partition-size": self.cfg.source_partition_size,
            "--reshuffle-partitions": bool(self.cfg.reshuffle_partitions),
            "--seed": options.get("seed", 1),
            "--max-tokens": options.get("max_tokens"),
            "--batch-size": options.get("max_sentences"),
            "processes": options.get("num_shards", 1),
            "--update-freq": self.update_freq,
            CORRECTION: "log_share" if self.corrected else "none",
        }


# Positional arguments of fairseq's ``get_batch_iterator``, and those that its iterator takes.
_POSITIONAL = (
    "max_tokens", "max_sentences", "max_positions", "ignore_invalid_inputs",
    "required_batch_size_multiple", "seed", "num_shards", "shard_id", "num_workers", "epoch",
    "data_buffer_size", "disable_iterator_cache", "skip_remainder_batch", "grouped_shuffling",
    "update_epoch_batch_itr",
)  # fmt: skip
_ITERATOR_OPTIONS = ("seed", "num_shards", "shard_id", "num_workers", "epoch")
