"""Training partition by partition (Jean et al. 2015, Sec. 3.1)."""

import logging
from types import SimpleNamespace
from typing import Any, Dict, Optional

import torch
from fairseq import utils

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.partitions.corpus import CorpusPartitions
from fairseq_outlayers.partitions.model_tables import source_tables, target_tables
from fairseq_outlayers.partitions.options import check_frozen, check_options, is_corrected
from fairseq_outlayers.partitions.partitioned_text import PartitionedText
from fairseq_outlayers.partitions.working_set import WorkingSet

logger = logging.getLogger(__name__)

# Inputs of the model in a batch, by side.
READ = {"source": "src_tokens", "target": "prev_output_tokens"}


class PartitionedTraining(PartitionedText):
    """Mix-in for a translation task: options and steps of partitioned training."""

    _working_set: Optional[WorkingSet] = None
    _moments: Any = None
    _save_moments = True
    _load_moments = True
    _log_shares: Any = None
    _new_biases: Any = None
    _log_shares_in_use: Any = None

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
        self.corrected = is_corrected(cfg.criterion, self.cfg)
        self.update_freq = list(cfg.optimization.update_freq)
        self._save_moments = not cfg.checkpoint.no_save_optimizer_state
        self._load_moments = not cfg.checkpoint.reset_optimizer
        self._working_set = WorkingSet(model, limits["target"], limits.get("source"), device)

    def start_text(self, partitions: CorpusPartitions, options: Dict[str, Any]) -> None:
        """Compute log shares of words; training subtracts them, and class biases start there."""
        if not self.corrected or self._log_shares is not None:
            return
        assert self._working_set is not None
        self._log_shares = torch.from_numpy(self.log_shares(options, partitions))
        logger.info(
            "--partition-correction log_share: training subtracts log shares from the scores of "
            f"words, {self._log_shares.min():.2f} to {self._log_shares.max():.2f}"
        )
        self._working_set.start_class_bias(self._log_shares, self._new_biases)

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
        if self.corrected and task.get("partition_size") and not is_corrected(*before):
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
            self._working_set.end_evaluation()
            targets = self._working_set.to_local_ids("target", sample["target"])
            sample = {**self._inputs_by_local_ids(sample), "target": targets}
        return super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)

    def _activate(self, sample: Dict[str, Any], optimizer: Any) -> None:
        assert self.batches is not None
        assert self._working_set is not None
        partitions, number = self.batches.partitions, self.batches.partition_of(sample)
        if self._working_set.is_active((partitions, number)):
            return
        if self._moments is not None:
            self._working_set.load_moments(self._moments)
            self._moments = None
        words = {side: words.of(number) for side, words in partitions.words.items()}
        self._working_set.activate(words, optimizer.optimizer, (partitions, number))
        if self.corrected:
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
            self._working_set.begin_evaluation(self._words_read(sample) if some else {})
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
        waiting = self._moments  # loaded, for the first update
        moments = self._working_set.moments() if waiting is None else waiting
        # fairseq moves its own part to the CPU before it adds this one.
        return {type(self).__name__: {"moments": utils.move_to_cpu(moments)}}

    def set_checkpoint_dict(self, saved: Dict[str, Any]) -> None:
        """Load the result of :meth:`get_checkpoint_dict`."""
        self._moments = saved.get("moments") if self._load_moments else None
