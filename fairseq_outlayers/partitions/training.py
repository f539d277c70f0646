"""Training partition by partition (Jean et al. 2015, Sec. 3.1)."""

import logging
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

import numpy as np
import torch
from fairseq import utils
from fairseq.tasks import FairseqTask

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.partitions.batches import CORRECTION, PartitionedBatches
from fairseq_outlayers.partitions.corpus import CorpusPartitions, corpus_side
from fairseq_outlayers.partitions.model_tables import source_tables, target_tables
from fairseq_outlayers.partitions.options import (
    check_frozen,
    check_options,
    is_corrected,
    partition_limits,
)
from fairseq_outlayers.partitions.shares import pooled_log_shares
from fairseq_outlayers.partitions.working_set import WorkingSet

logger = logging.getLogger(__name__)

# Inputs of the model in a batch, by side.
READ = {"source": "src_tokens", "target": "prev_output_tokens"}


class PartitionedTraining(FairseqTask):
    """Mix-in for a translation task: options, batches and steps of partitioned training."""

    cfg: Any
    source_dictionary: Any
    target_dictionary: Any
    _working_set: Optional[WorkingSet] = None
    _batches: Optional[PartitionedBatches] = None
    _moments: Any = None
    _corrected = False
    _save_moments = True
    _load_moments = True
    _log_shares: Any = None
    _new_biases: Any = None
    _log_shares_in_use: Any = None
    _update_freq: List[int] = [1]  # noqa: RUF012 - never changed

    def limits(self) -> Dict[str, int]:
        """The maximal number of words of a partition, by limited side."""
        return partition_limits(self.cfg, len(self.source_dictionary), len(self.target_dictionary))

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        """Build the model as fairseq does; ``--freeze-embeddings`` freezes its tables."""
        model = super().build_model(cfg, from_checkpoint)
        if self.cfg.freeze_embeddings:
            for table in {**target_tables(model), **source_tables(model)}.values():
                table.parameter.requires_grad_(False)
        return model

    def prepare_training(self, cfg: Any, model: Any) -> None:
        """Shrink the tables of the model; called before it is wrapped.

        Args:
            cfg: all options of fairseq-train.
            model: to be trained.
        Raises:
            UserError: if an option does not support partitions.
        """
        check_frozen(cfg)
        limits = self.limits()
        if not limits:
            return
        check_options(cfg)
        device = torch.device("cpu") if str(self.cfg.table_device) == "cpu" else None
        self._corrected = is_corrected(cfg.criterion, self.cfg)
        self._update_freq = list(cfg.optimization.update_freq)
        self._save_moments = not cfg.checkpoint.no_save_optimizer_state
        self._load_moments = not cfg.checkpoint.reset_optimizer
        self._working_set = WorkingSet(model, limits["target"], limits.get("source"), device)

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
        if self._corrected and self._log_shares is None:
            self._correct(partitions, options)
        batches = PartitionedBatches(
            dataset,
            partitions,
            lambda epoch: self._update_freq[min(epoch, len(self._update_freq)) - 1],
            self._fingerprint(options),
            **{name: options[name] for name in _OF_ITERATOR if name in options},
            buffer_size=options.get("data_buffer_size", 0),
        )
        self._batches = batches
        if cached:
            self.dataset_to_epoch_iter[dataset] = batches
        return batches

    def _correct(self, partitions: CorpusPartitions, options: Dict[str, Any]) -> None:
        """Compute log shares of words; training subtracts them, and class biases start there."""
        assert self._working_set is not None
        self._log_shares = torch.from_numpy(self.log_shares(options, partitions))
        logger.info(
            "--partition-correction log_share: training subtracts log shares from the scores of "
            f"words, {self._log_shares.min():.2f} to {self._log_shares.max():.2f}"
        )
        self._working_set.start_class_bias(self._log_shares, self._new_biases)

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

    def check_start(self, path: str, task: Dict[str, Any], criterion: Dict[str, Any]) -> None:
        """Refuse to fine-tune a model of uncorrected scores with corrected training.

        Args:
            path: of the checkpoint.
            task: its options.
            criterion: its options.
        Raises:
            UserError: if the class biases lack the log shares that training subtracts.
        """
        before = SimpleNamespace(**criterion), SimpleNamespace(**task)
        if self._corrected and task.get("partition_size") and not is_corrected(*before):
            raise UserError(
                f"{path}: was trained with --partition-correction none, so its scores lack what "
                "this training subtracts: correct it first (python -m fairseq_outlayers "
                f"partition-correction {path} --output NEW), or pass "
                "--partition-correction none"
            )

    def start_classes(self, new_biases: Optional[torch.Tensor]) -> None:
        """Let some classes of a model that is fine-tuned start as those of a new model.

        Args:
            new_biases: which class biases were not loaded, ``(V,)``; None for none.
        """
        self._new_biases = new_biases

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
            "--update-freq": self._update_freq,
            CORRECTION: "log_share" if self._corrected else "none",
        }

    def train_step(
        self,
        sample: Dict[str, Any],
        model: Any,
        criterion: Any,
        optimizer: Any,
        update_num: int,
        ignore_grad: bool = False,
    ) -> Any:
        """fairseq's step, after loading the rows of the batch's partition into the model."""
        if self._working_set is not None:
            self._activate(sample, optimizer)
            self._working_set.show_rows()
            targets = self._working_set.to_local_ids("target", sample["target"])
            sample = {**self._inputs_by_local_ids(sample), "target": targets}
        return super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)

    def _activate(self, sample: Dict[str, Any], optimizer: Any) -> None:
        assert self._batches is not None
        assert self._working_set is not None
        partitions, number = self._batches.partitions, self._batches.partition_of(sample)
        if self._working_set.is_active((partitions, number)):
            return
        if self._moments is not None:
            self._working_set.load_moments(self._moments)
            self._moments = None
        words = {side: words.of(number) for side, words in partitions.words.items()}
        self._working_set.activate(words, optimizer.optimizer, (partitions, number))
        if self._corrected:
            table = next(iter(self._working_set.tables["target"].values())).parameter
            self._log_shares_in_use = self._log_shares[words["target"]].to(table)

    def log_shares_in_use(self) -> torch.Tensor:
        """Log shares of the target words in use, ``(n,)``, with their tables' dtype and device."""
        return self._log_shares_in_use

    def _inputs_by_local_ids(self, sample: Dict[str, Any]) -> Dict[str, Any]:
        """The batch with local ids as inputs."""
        assert self._working_set is not None
        inputs = sample["net_input"]
        local = {
            name: self._working_set.to_local_ids(side, inputs[name]) for side, name in READ.items()
        }
        return {**sample, "net_input": {**inputs, **local}}

    def valid_step(self, sample: Dict[str, Any], model: Any, criterion: Any) -> Any:
        """fairseq's step, over all words."""
        if self._working_set is not None:
            # Only a table of which the model has some rows at a time needs to know them.
            some = self._working_set.has_tables_elsewhere
            self._working_set.show_all(self._words_read(sample) if some else {})
            sample = self._inputs_by_local_ids(sample)  # targets keep their ids
        return super().valid_step(sample, model, criterion)

    def _words_read(self, sample: Dict[str, Any]) -> Dict[str, torch.Tensor]:
        """Ids of a batch's input words by side, including special symbols."""
        read = {side: sample["net_input"][name].flatten() for side, name in READ.items()}
        specials = torch.arange(self.target_dictionary.nspecial, device=sample["target"].device)
        return {side: torch.cat([specials, ids]).unique() for side, ids in read.items()}

    def get_checkpoint_dict(self) -> Dict[str, Any]:
        """The optimizer state of the tables, for the checkpoint."""
        if self._working_set is None or not self._save_moments:
            return {}
        return {type(self).__name__: {"moments": self._working_set.moments()}}

    def set_checkpoint_dict(self, saved: Dict[str, Any]) -> None:
        """Load the result of :meth:`get_checkpoint_dict`."""
        self._moments = saved.get("moments") if self._load_moments else None


# Positional arguments of fairseq's ``get_batch_iterator``, and those that its iterator takes.
_POSITIONAL = (
    "max_tokens", "max_sentences", "max_positions", "ignore_invalid_inputs",
    "required_batch_size_multiple", "seed", "num_shards", "shard_id", "num_workers", "epoch",
    "data_buffer_size", "disable_iterator_cache", "skip_remainder_batch", "grouped_shuffling",
    "update_epoch_batch_itr",
)  # fmt: skip
_OF_ITERATOR = ("seed", "num_shards", "shard_id", "num_workers", "epoch")
