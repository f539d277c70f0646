"""Two processes on a CPU, started by torchrun as a user starts them, or as it starts them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.system.commands import PLUGIN, ROOT, on_two_processes, succeed

pytestmark = pytest.mark.system

# 15 batches an epoch: in its last update there is none left for the second process.
COMMON = (
    f"--user-dir {PLUGIN} --dropout 0 --cpu --optimizer adam --lr 0.01 --batch-size 8 "
    "--no-progress-bar --num-workers 0 --disable-validation --no-epoch-checkpoints"
).split()
TRAINING = [*COMMON, *["--arch", "luong_lstm", "--embed-dim", "8", "--hidden-size", "8"]]
SAMPLED = ["--criterion", "sampled_softmax", "--num-sampled", "16"]
PARTITIONED = ["--task", "translation_outlayers", "--criterion", "partition_softmax"]
PARTITIONED += ["--partition-mode", "authors"]
UPDATES = ["--max-update", "11"]  # into the second epoch


def torchrun(data, *options):
    """Plain ``torchrun --nproc_per_node 2 $(which fairseq-train)``; its standard output."""
    script = shutil.which("fairseq-train", path=str(Path(sys.executable).parent))
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    result = subprocess.run(
        [sys.executable, *launcher, script, data, *TRAINING, *map(str, options)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert "Warning" not in result.stdout + result.stderr
    return result.stdout


def parameters(folder):
    return torch.load(folder / "checkpoint_last.pt")["model"]


@pytest.fixture(scope="module")
def data(random_data):
    return random_data


@pytest.fixture(scope="module")
def one_process(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one_process")
    options = [*SAMPLED, "--update-freq", 2, "--save-dir", folder]
    succeed("train", data, *TRAINING, *UPDATES, *options)
    return parameters(folder)


@pytest.fixture(scope="module")
def two_processes(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_processes")
    torchrun(data, *SAMPLED, *UPDATES, "--save-interval-updates", 5, "--save-dir", folder)
    return folder


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, tensor in found.items():
        assert torch.equal(tensor, expected[name]), name


def test_two_processes_equal_one_with_twice_the_update_freq(one_process, two_processes):
    assert_equal(parameters(two_processes), one_process)


def test_a_resumed_run_with_the_other_wrapper_equals_an_unbroken_one(
    data, one_process, two_processes, tmp_path
):
    middle = two_processes / "checkpoint_1_5.pt"
    resumed = ["--ddp-backend", "legacy_ddp", "--restore-file", middle, "--save-dir", tmp_path]
    output = on_two_processes("train", data, *TRAINING, *SAMPLED, *UPDATES, *resumed)
    assert f"Loaded checkpoint {middle} (epoch 1 @ 5 updates)" in output
    assert_equal(parameters(tmp_path), one_process)


@pytest.mark.parametrize("backend", ["pytorch_ddp", "legacy_ddp"])
def test_the_last_update_of_an_epoch_counts_the_words_of_all_batches(backend, data, tmp_path):
    """The second process has one batch and an empty one. SGD does not hide a wrong scale."""
    options = ["--optimizer", "sgd", "--lr", 1, "--max-epoch", 1]
    alone = ["--update-freq", 4, "--save-dir", tmp_path / "one"]
    succeed("train", data, *TRAINING, *options, *alone)
    options += ["--update-freq", 2, "--ddp-backend", backend, "--save-dir", tmp_path / "two"]
    on_two_processes("train", data, *TRAINING, *options)
    found, expected = parameters(tmp_path / "two"), parameters(tmp_path / "one")
    for name, tensor in found.items():
        assert torch.allclose(tensor, expected[name], rtol=0, atol=1e-6), name


def test_rows_updated_by_two_processes_equal_those_of_one_bit_for_bit(data, tmp_path):
    options = [*SAMPLED, "--optimizer", "lazy_adam", *UPDATES]
    succeed("train", data, *TRAINING, *options, "--update-freq", 2, "--save-dir", tmp_path / "one")
    torchrun(data, *options, "--save-dir", tmp_path / "two")
    assert_equal(parameters(tmp_path / "two"), parameters(tmp_path / "one"))


def test_rows_of_a_tied_transformer_are_updated_alike_by_one_process_and_two(data, tmp_path):
    """The padding of a tied table may be drawn as a class, and has moments from then on."""
    options = [*COMMON, "--arch", "transformer_tiny_outlayers", "--output-layer", "tied"]
    options += [*SAMPLED, "--optimizer", "lazy_adam", *UPDATES]
    succeed("train", data, *options, "--update-freq", 2, "--save-dir", tmp_path / "one")
    on_two_processes("train", data, *options, "--save-dir", tmp_path / "two")
    assert_equal(parameters(tmp_path / "two"), parameters(tmp_path / "one"))


# With 14 words, some partitions are one sentence long, too short for two processes.
@pytest.mark.parametrize("size", [25, 14])
def test_two_processes_are_in_the_same_partition_and_equal_one(size, data, tmp_path):
    options = [*PARTITIONED, "--partition-size", size, "--max-update", 25]
    alone = ["--update-freq", 2, "--save-dir", tmp_path / "one"]
    succeed("train", data, *TRAINING, *options, *alone)
    on_two_processes("train", data, *TRAINING, *options, "--save-dir", tmp_path / "two")
    assert_equal(parameters(tmp_path / "two"), parameters(tmp_path / "one"))


def test_new_words_of_a_model_that_is_fine_tuned_by_partitions_start_alike(data, tmp_path):
    """One process reads the checkpoint; all start the biases of words that it lacks."""
    texts = [f"--{split}pref={data.parent / split}" for split in ("train", "valid")]
    few = ["--nwordstgt", 12, "--padding-factor", 1, "--destdir", tmp_path / "few"]
    succeed("preprocess", "--source-lang", "xx", "--target-lang", "yy", *texts, *few)
    succeed("train", tmp_path / "few", *TRAINING, "--max-update", 2, "--save-dir", tmp_path / "few")
    options = [*TRAINING, "--task", "translation_outlayers", "--criterion", "partition_softmax"]
    options += ["--partition-size", 25, "--max-update", 6]
    options += ["--finetune-from-model", tmp_path / "few" / "checkpoint_last.pt"]
    alone = ["--update-freq", 2, "--save-dir", tmp_path / "one"]
    said = succeed("train", data, *options, *alone).stdout
    assert "mapped by word: decoder.output_projection.bias" in said
    on_two_processes("train", data, *options, "--save-dir", tmp_path / "two")
    assert_equal(parameters(tmp_path / "two"), parameters(tmp_path / "one"))


@pytest.mark.parametrize(
    "options",
    [[*SAMPLED, "--optimizer", "lazy_adam"], [*PARTITIONED, "--partition-size", 25]],
    ids=["rows", "partitions"],
)
def test_two_processes_resume_states_of_tables_bit_for_bit(options, data, tmp_path):
    options = [*TRAINING, *options, *UPDATES]
    saves = ["--save-interval-updates", 5, "--save-dir", tmp_path / "one"]
    on_two_processes("train", data, *options, *saves)
    middle = tmp_path / "one" / "checkpoint_1_5.pt"
    on_two_processes(
        "train", data, *options, "--restore-file", middle, "--save-dir", tmp_path / "two"
    )
    assert_equal(parameters(tmp_path / "two"), parameters(tmp_path / "one"))
