"""Options of partitioned training, and what they exclude."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict

from fairseq.dataclass import ChoiceEnum, FairseqDataclass

from fairseq_outlayers.errors import UserError, refuse_idle
from fairseq_outlayers.optim.data_parallelism import require_whole_parameters
from fairseq_outlayers.ranges import check_ranges, ranged


@dataclass
class PartitionConfig(FairseqDataclass):
    partition_size: int = ranged(
        0,
        "train on stretches of the corpus with so many different target words each "
        "(special symbols included), and on these words alone; 0: on all words",
        at_least=0,
    )
    partition_mode: ChoiceEnum(["paper", "authors"]) = field(  # type: ignore[valid-type]
        default="paper",
        metadata={
            "help": "what a partition trains: the words of its sentences (paper), or always "
            "--partition-size words, filled up from the partition before, on both sides (authors)"
        },
    )
    source_partition_size: int = ranged(
        0,
        "the same for source words; 0: as many as --partition-size with "
        "--partition-mode authors, else all of them",
        at_least=0,
    )
    reshuffle_partitions: bool = field(
        default=False,
        metadata={"help": "divide the corpus anew in every epoch, in a new random order"},
    )
    freeze_embeddings: bool = field(
        default=False,
        metadata={
            "help": "train no word vectors: neither those of source and target words nor class "
            "vectors and biases; for a second stage, from a checkpoint given as "
            "--finetune-from-model"
        },
    )
    table_device: ChoiceEnum(["model", "cpu"]) = field(  # type: ignore[valid-type]
        default="model",
        metadata={
            "help": "where the tables of all words are kept under --partition-size, and what the "
            "optimizer keeps of them: with the model, or in host memory"
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


OF_PARTITIONS = ("source_partition_size", "reshuffle_partitions", "partition_mode", "table_device")


def partition_limits(cfg: Any, source_words: int, target_words: int) -> Dict[str, int]:
    """The most words of a partition, for each side that is limited; empty without partitions.

    Args:
        cfg: has the fields of :class:`PartitionConfig`.
        source_words: in the dictionary.
        target_words: in the dictionary.
    Raises:
        UserError: if a number is negative, or an option has no meaning without partitions.
    """
    check_ranges(cfg, PartitionConfig)
    if cfg.partition_size == 0:
        for name in OF_PARTITIONS:
            refuse_idle(cfg, PartitionConfig(), name, "--partition-size")
        return {}
    limits = {"target": min(cfg.partition_size, target_words)}
    authors = str(cfg.partition_mode) == "authors"
    source = cfg.source_partition_size or (cfg.partition_size if authors else 0)
    if 0 < source < source_words:
        limits["source"] = source
    return limits


def check_frozen(cfg: Any) -> None:
    """Refuse to train on word vectors that nobody has trained.

    Args:
        cfg: all options of fairseq-train.
    Raises:
        UserError: if ``--freeze-embeddings`` is given without a checkpoint to start from.
    """
    saved = cfg.checkpoint
    last = Path(saved.save_dir) / "checkpoint_last.pt"
    named = saved.finetune_from_model or saved.restore_file != "checkpoint_last.pt"
    if cfg.task.freeze_embeddings and not named and not last.exists():
        raise UserError(
            "--freeze-embeddings goes on from trained word vectors: name a checkpoint in "
            f"--finetune-from-model ({last} does not exist)"
        )


REFUSED = {
    ("common", "fp16"): "--fp16 replaces the parameters that the rows are put into: use --amp",
    ("common", "bf16"): "--bf16 replaces the parameters that the rows are put into: use --amp",
    ("common", "tpu"): "--tpu compiles a step for fixed tables: leave it out",
    ("ema", "store_ema"): "--store-ema would average different rows: leave it out",
    ("optimization", "use_bmuf"): "--use-bmuf averages whole tables: leave it out",
    (
        "dataset",
        "grouped_shuffling",
    ): "--grouped-shuffling would mix partitions: leave it out",
    ("optimization", "skip_remainder_batch"): "--skip-remainder-batch would drop a batch of the "
    "last partition: leave it out",
}


# Why they do not go with tables whose rows are exchanged.
OPTIMIZERS_REFUSED = {
    "adafactor": "keeps sums over rows and columns of tables whose rows change",
    "composite": "does not show what it keeps of the tables",
    "lazy_adam": "updates rows of whole tables, and partitions make them small",
}


def check_options(cfg: Any) -> None:
    """Refuse what does not go with partitions.

    Args:
        cfg: all options of fairseq-train.
    Raises:
        UserError: if one is given, by its name.
    """
    for (group, name), advice in REFUSED.items():
        if getattr(getattr(cfg, group), name):
            raise UserError(f"--partition-size: {advice}")
    if str(cfg.task.table_device) == "cpu" and cfg.task.eval_bleu:
        raise UserError(
            "--eval-bleu needs the tables on the model's device, and --table-device cpu keeps them "
            "away from it: leave one of them out"
        )
    criterion = cfg.criterion._name
    if criterion != "partition_softmax":
        raise UserError(
            f"--criterion {criterion} does not know of --partition-size: use --criterion "
            "partition_softmax, or leave out --partition-size"
        )
    optimizer = cfg.optimizer._name
    if optimizer in OPTIMIZERS_REFUSED:
        raise UserError(
            f"--optimizer {optimizer} {OPTIMIZERS_REFUSED[optimizer]}: under --partition-size use "
            "--optimizer adam or another"
        )
    require_whole_parameters(cfg.distributed_training, "--partition-size")
