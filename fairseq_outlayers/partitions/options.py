"""Options of partitioned training, and options that they exclude."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.dataclass.configs import DatasetConfig

from fairseq_outlayers.errors import UserError, refuse_idle
from fairseq_outlayers.optim.data_parallelism import require_whole_parameters
from fairseq_outlayers.ranges import check_ranges, ranged


@dataclass
class PartitionConfig(FairseqDataclass):
    partition_size: int = ranged(
        0,
        "train on partitions of the corpus with at most this many distinct target words each "
        "(including special symbols), and score only these; 0: no partitions",
        at_least=0,
    )
    partition_mode: ChoiceEnum(["paper", "authors"]) = field(  # type: ignore[valid-type]
        default="paper",
        metadata={
            "help": "words of a partition: those of its sentences (paper), or always "
            "--partition-size words, filled up from the previous partition, on both sides (authors)"
        },
    )
    source_partition_size: int = ranged(
        0,
        "maximal number of distinct source words; 0: --partition-size with --partition-mode "
        "authors, else no limit",
        at_least=0,
    )
    reshuffle_partitions: bool = field(
        default=False,
        metadata={"help": "shuffle and divide the corpus again in every epoch"},
    )
    freeze_embeddings: bool = field(
        default=False,
        metadata={
            "help": "freeze source and target embeddings, class embeddings and class biases; for a "
            "second stage with --finetune-from-model"
        },
    )
    table_device: ChoiceEnum(["model", "cpu"]) = field(  # type: ignore[valid-type]
        default="model",
        metadata={
            "help": "device of the full tables and their optimizer state with --partition-size: "
            "the model's, or host memory"
        },
    )


def is_corrected(criterion: Any, task: Any) -> bool:
    """Whether training subtracts the logarithm of a word's share from its score.

    Args:
        criterion: its options. Those of a checkpoint may be older than the correction.
        task: its options.
    """
    chosen = str(getattr(criterion, "partition_correction", "none"))
    if chosen == "by_mode":
        return str(getattr(task, "partition_mode", "paper")) == "paper"
    return chosen == "log_share"


PARTITION_OPTIONS = (
    "source_partition_size",
    "reshuffle_partitions",
    "partition_mode",
    "table_device",
)


def partition_limits(cfg: Any, source_words: int, target_words: int) -> Dict[str, int]:
    """The maximal number of words of a partition, by limited side; empty without partitions.

    Args:
        cfg: has the fields of :class:`PartitionConfig`.
        source_words: size of the source dictionary.
        target_words: size of the target dictionary.
    Raises:
        UserError: if a number is negative, or an option has no effect without partitions.
    """
    check_ranges(cfg, PartitionConfig)
    if cfg.partition_size == 0:
        refuse_idle(cfg, PartitionConfig(), "--partition-size", *PARTITION_OPTIONS)
        return {}
    limits = {"target": min(cfg.partition_size, target_words)}
    authors = str(cfg.partition_mode) == "authors"
    source = cfg.source_partition_size or (cfg.partition_size if authors else 0)
    if 0 < source < source_words:
        limits["source"] = source
    return limits


def check_frozen(cfg: Any) -> None:
    """Refuse ``--freeze-embeddings`` with untrained embeddings.

    Args:
        cfg: all options of fairseq-train.
    Raises:
        UserError: if ``--freeze-embeddings`` is given without a checkpoint to start from.
    """
    saved = cfg.checkpoint
    last = Path(saved.save_dir) / f"checkpoint_last{saved.checkpoint_suffix or ''}.pt"
    named = saved.finetune_from_model or saved.restore_file != "checkpoint_last.pt"
    if cfg.task.freeze_embeddings and not named and not last.exists():
        raise UserError(
            "--freeze-embeddings needs trained embeddings: give a checkpoint by "
            f"--finetune-from-model ({last} does not exist)"
        )


REFUSED = {
    ("common", "fp16"): "--fp16 replaces the parameters that hold the rows: use --amp",
    ("common", "bf16"): "--bf16 replaces the parameters that hold the rows: use --amp",
    ("common", "tpu"): "--tpu compiles a step for fixed tables: leave it out",
    ("ema", "store_ema"): "--store-ema would average different rows: leave it out",
    ("optimization", "use_bmuf"): "--use-bmuf averages whole tables: leave it out",
    (
        "dataset",
        "grouped_shuffling",
    ): "--grouped-shuffling would mix partitions: leave it out",
    ("task", "num_batch_buckets"): "--num-batch-buckets pads sentences, and padding would count as "
    "words of the text: leave it out",
    ("dataset", "update_ordered_indices_seed"): "--update-ordered-indices-seed has no effect, "
    "because partitions and batches are seeded by --seed and the epoch: leave it out",
    ("optimization", "skip_remainder_batch"): "--skip-remainder-batch would drop a batch of the "
    "last partition: leave it out",
}

DEFAULT_MULTIPLE = DatasetConfig.required_batch_size_multiple

# Why they do not support tables whose rows are exchanged.
OPTIMIZERS_REFUSED = {
    "adafactor": "keeps sums over rows and columns of tables whose rows change",
    "composite": "hides its state of the tables",
    "lazy_adam": "updates rows of full tables, but partitions have small ones",
}


def check_options(cfg: Any) -> None:
    """Refuse options that partitions do not support.

    Args:
        cfg: all options of fairseq-train.
    Raises:
        UserError: if one is given.
    """
    for (group, name), advice in REFUSED.items():
        if getattr(getattr(cfg, group), name):
            raise UserError(f"--partition-size: {advice}")
    multiple = cfg.dataset.required_batch_size_multiple
    if multiple not in (1, DEFAULT_MULTIPLE):
        raise UserError(
            f"--required-batch-size-multiple {multiple} has no effect with --partition-size, whose "
            "batches have any size: leave it out"
        )
    if str(cfg.task.table_device) == "cpu" and cfg.task.eval_bleu:
        raise UserError(
            "--eval-bleu needs the tables on the model's device, but --table-device cpu keeps them "
            "in host memory: leave one of them out"
        )
    criterion = cfg.criterion._name
    if criterion != "partition_softmax":
        raise UserError(
            f"--criterion {criterion} does not support --partition-size: use --criterion "
            "partition_softmax, or leave out --partition-size"
        )
    optimizer = cfg.optimizer._name
    if optimizer in OPTIMIZERS_REFUSED:
        raise UserError(
            f"--optimizer {optimizer} {OPTIMIZERS_REFUSED[optimizer]}: with --partition-size use "
            "another, such as --optimizer adam"
        )
    require_whole_parameters(cfg.distributed_training, "--partition-size")
