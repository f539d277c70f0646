"""What does not go with partitions, before anything is trained."""

from types import SimpleNamespace

import pytest

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.partitions.options import (
    PartitionConfig,
    check_frozen,
    check_options,
    partition_limits,
)


def options(**changes):
    """All options of fairseq-train that matter, ``group__name`` changed."""
    groups = {
        "common": {"fp16": False, "bf16": False, "tpu": False},
        "ema": {"store_ema": False},
        "optimization": {"use_bmuf": False, "skip_remainder_batch": False},
        "dataset": {
            "grouped_shuffling": False,
            "required_batch_size_multiple": 8,
            "update_ordered_indices_seed": False,
        },
        "task": {"table_device": "model", "eval_bleu": False, "num_batch_buckets": 0},
        "criterion": {"_name": "partition_softmax"},
        "optimizer": {"_name": "adam"},
        "distributed_training": {"ddp_backend": "pytorch_ddp", "zero_sharding": "none"},
    }
    for name, value in changes.items():
        group, _, option = name.partition("__")
        groups[group][option] = value
    return SimpleNamespace(**{name: SimpleNamespace(**group) for name, group in groups.items()})


@pytest.mark.parametrize("optimizer", ["adam", "adadelta", "adagrad", "adamax", "nag", "sgd"])
def test_what_goes_with_partitions_is_accepted(optimizer):
    check_options(options(optimizer___name=optimizer))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimizer___name": "adafactor"}, "--optimizer adafactor keeps sums over rows"),
        ({"optimizer___name": "composite"}, "--optimizer composite hides"),
        ({"optimizer___name": "lazy_adam"}, "--optimizer lazy_adam updates rows of full"),
        ({"dataset__grouped_shuffling": True}, "--grouped-shuffling would mix partitions"),
        ({"dataset__update_ordered_indices_seed": True}, "--update-ordered-indices-seed has no"),
        ({"dataset__required_batch_size_multiple": 4}, "--required-batch-size-multiple 4 has no"),
        ({"task__num_batch_buckets": 2}, "--num-batch-buckets pads sentences"),
        ({"common__fp16": True}, "--fp16 replaces the parameters"),
        ({"common__bf16": True}, "--bf16 replaces the parameters"),
        ({"common__tpu": True}, "--tpu compiles a step"),
        ({"optimization__use_bmuf": True}, "--use-bmuf averages whole tables"),
        ({"distributed_training__ddp_backend": "fully_sharded"}, "--ddp-backend fully_sharded"),
        ({"distributed_training__zero_sharding": "os"}, "--zero-sharding os"),
    ],
)
def test_what_does_not_is_refused_by_name(changes, message):
    with pytest.raises(UserError, match=message):
        check_options(options(**changes))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"partition_size": -1}, "--partition-size -1"),
        ({"partition_size": 9, "source_partition_size": -2}, "--source-partition-size -2"),
        ({"reshuffle_partitions": True}, "--reshuffle-partitions has no effect without"),
        ({"table_device": "cpu"}, "--table-device cpu has no effect without"),
        ({"partition_mode": "authors"}, "--partition-mode authors has no effect without"),
        ({"source_partition_size": 9}, "--source-partition-size 9 has no effect without"),
    ],
)
def test_numbers_and_options_without_meaning_are_refused(given, message):
    with pytest.raises(UserError, match=message):
        partition_limits(PartitionConfig(**given), 100, 100)


@pytest.mark.parametrize(
    ("mode", "source", "limits"),
    [
        ("paper", 0, {"target": 9}),
        ("paper", 20, {"target": 9, "source": 20}),
        ("paper", 49, {"target": 9, "source": 49}),
        ("paper", 50, {"target": 9}),  # all words
        ("authors", 0, {"target": 9, "source": 9}),
        ("authors", 20, {"target": 9, "source": 20}),
    ],
)
def test_the_source_has_a_limit_of_its_own_or_that_of_the_authors(mode, source, limits):
    config = PartitionConfig(partition_size=9, partition_mode=mode, source_partition_size=source)
    assert partition_limits(config, 50, 100) == limits


def test_no_more_target_words_than_there_are():
    assert partition_limits(PartitionConfig(partition_size=200), 50, 100) == {"target": 100}


@pytest.mark.parametrize("suffix", ["", "_mine"])
def test_embeddings_may_be_frozen_in_a_training_that_goes_on(suffix, tmp_path):
    saved = SimpleNamespace(
        save_dir=str(tmp_path), restore_file="checkpoint_last.pt", finetune_from_model=None,
        checkpoint_suffix=suffix,
    )  # fmt: skip
    options = SimpleNamespace(checkpoint=saved, task=SimpleNamespace(freeze_embeddings=True))
    with pytest.raises(UserError, match=f"checkpoint_last{suffix}.pt does not exist"):
        check_frozen(options)
    (tmp_path / f"checkpoint_last{suffix}.pt").touch()
    check_frozen(options)
    (tmp_path / f"checkpoint_last{suffix}.pt").unlink()
    saved.restore_file = "other.pt"
    check_frozen(options)
