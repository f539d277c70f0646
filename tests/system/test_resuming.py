"""A run that is stopped within any epoch and started again ends like an unbroken one."""

import json
import re

import pytest
import torch

from fairseq_outlayers.checkpoints.averaging import average
from fairseq_outlayers.export.stock_checkpoint import export_checkpoint
from tests.system.commands import PLUGIN, run, succeed

pytestmark = pytest.mark.system

COMMON = (
    f"--user-dir {PLUGIN} --cpu --optimizer adam --lr 0.01 --dropout 0.1 --no-progress-bar "
    "--num-workers 0 --disable-validation --no-epoch-checkpoints --batch-size 8"
).split()
PAIR = ["--source-lang", "xx", "--target-lang", "yy"]
LSTM = ["--arch", "luong_lstm", "--embed-dim", 8, "--hidden-size", 8, *PAIR]
LANGUAGE_MODEL = [
    "--arch",
    "transformer_lm_outlayers",
    "--task",
    "language_modeling",
    "--decoder-embed-dim",
    "8",
    "--decoder-ffn-embed-dim",
    "8",
    "--decoder-layers",
    "1",
    "--decoder-attention-heads",
    "1",
    "--tokens-per-sample",
    "20",
]
TRANSFORMER = [
    "--arch",
    "transformer",
    "--encoder-layers",
    "1",
    "--decoder-layers",
    "1",
    "--encoder-embed-dim",
    "8",
    "--decoder-embed-dim",
    "8",
    "--encoder-attention-heads",
    "1",
    "--decoder-attention-heads",
    "1",
]
MODES = {
    "translation with a worker and two batches an update": [
        *[*LSTM, "--task", "translation", "--update-freq", 2, "--num-workers", 1],
    ],
    "sampled classes by rows": [
        *[*LSTM, "--task", "translation_outlayers", "--criterion", "sampled_softmax"],
        *["--num-sampled", 16, "--optimizer", "lazy_adam"],
    ],
    "stock transformer with a moving average": [
        *[*TRANSFORMER, *PAIR, "--store-ema", "--ema-decay", 0.9, "--ema-update-freq", 5],
    ],
    "language model in blocks": [
        *[*LANGUAGE_MODEL, "--sample-break-mode", "none", "--batch-size", 3],
    ],
    "language model of sentences": [*LANGUAGE_MODEL, "--sample-break-mode", "eos"],
}


@pytest.fixture(scope="module")
def data(random_data):
    return random_data


@pytest.fixture(scope="module")
def text(data, tmp_path_factory):
    """The same corpus for language models."""
    folder = tmp_path_factory.mktemp("text")
    prefixes = (f"--{split}pref={data.parent / split}.xx" for split in ("train", "valid"))
    succeed("preprocess", "--only-source", *prefixes, "--destdir", folder)
    return folder


@pytest.mark.parametrize("mode", MODES)
def test_stopped_in_three_epochs_equals_unbroken(mode, data, text, tmp_path):
    """An epoch has 14 to 16 updates, half of that with two batches in each."""
    folder = text if "language" in mode else data
    stops = [11, 18, 26] if "two batches" in mode else [22, 37, 52]  # within epochs 2, 3 and 4
    for stop in stops:
        run_until(folder, tmp_path / "broken", mode, stop)
    unbroken, _ = run_until(folder, tmp_path / "unbroken", mode, stops[-1])
    broken = torch.load(tmp_path / "broken" / "checkpoint_last.pt")
    assert unbroken["extra_state"]["train_iterator"] == broken["extra_state"]["train_iterator"]
    assert unbroken["extra_state"]["train_iterator"]["epoch"] == 4
    assert unbroken["extra_state"]["train_iterator"]["iterations_in_epoch"] > 0
    for name, tensor in unbroken["model"].items():
        assert torch.equal(tensor, broken["model"][name]), name
    for name, tensor in unbroken["extra_state"].get("ema", {}).items():
        assert torch.equal(tensor, broken["extra_state"]["ema"][name]), name


def test_a_resumed_epoch_ends_once_with_another_number_of_batches_an_update(data, tmp_path):
    """Of 15 batches, 2 are done; stock fairseq trains on 12 more, then on all 15 again."""
    command = ["train", data, *COMMON, *LSTM, "--save-dir", tmp_path]
    succeed(*command, "--max-update", 2)
    done = succeed(*command, "--update-freq", 3, "--max-epoch", 1)
    said = done.stdout + done.stderr
    assert said.count("begin training epoch 1\n") == 1
    state = torch.load(tmp_path / "checkpoint_last.pt")
    assert state["extra_state"]["train_iterator"]["epoch"] == 2
    assert state["optimizer_history"][-1]["num_updates"] == 2 + 5


@pytest.mark.parametrize("mode", ["sampled classes by rows", "language model of sentences"])
def test_a_finished_training_that_is_run_again_trains_no_more(mode, data, text, tmp_path):
    folder = text if "language" in mode else data
    first, at_first = run_until(folder, tmp_path, mode, 20)
    again, says = run_until(folder, tmp_path, mode, 20)
    assert (at_first, says) == (False, True)
    assert [state["num_updates"] for state in again["optimizer_history"]] == [20]
    for name, tensor in first["model"].items():
        assert torch.equal(tensor, again["model"][name]), name
    epochs = again["extra_state"]["train_iterator"]["epoch"]
    limits = ["--max-epoch", epochs - 1]
    assert run_until(folder, tmp_path, mode, 22, *limits)[1]  # of epochs
    more, says = run_until(folder, tmp_path, mode, 22)
    assert not says
    assert more["optimizer_history"][-1]["num_updates"] == 22


def test_hours_that_have_passed_are_not_trained_beyond(data, tmp_path):
    command = ["train", data, *COMMON, *LSTM, "--save-dir", tmp_path, "--stop-time-hours", 1e-9]
    for says in (False, True):
        done = succeed(*command)
        assert ("nothing to train: " in done.stderr + done.stdout) == says
        state = torch.load(tmp_path / "checkpoint_last.pt")
        assert state["optimizer_history"][-1]["num_updates"] == 1


def test_hours_of_another_training_do_not_count(data, tmp_path):
    command = ["train", data, *COMMON, *LSTM, "--stop-time-hours", 1, "--max-update"]
    succeed(*command, 2, "--save-dir", tmp_path / "pretrained")
    last = tmp_path / "pretrained" / "checkpoint_last.pt"
    state = torch.load(last)
    state["extra_state"]["previous_training_time"] = 7200.0
    torch.save(state, last)
    for folder, how in {
        "tuned": ["--finetune-from-model", last],
        "restored": ["--restore-file", last, "--reset-optimizer", "--reset-lr-scheduler",
                     "--reset-dataloader", "--reset-meters"],
    }.items():  # fmt: skip
        succeed(*command, 3, "--save-dir", tmp_path / folder, *how)
        state = torch.load(tmp_path / folder / "checkpoint_last.pt")
        assert state["optimizer_history"][-1]["num_updates"] == 3
    again = succeed(*command, 3, "--save-dir", tmp_path / "pretrained")
    assert "nothing to train: " in again.stdout + again.stderr


def test_patience_is_counted_across_restarts(data, tmp_path):
    """With a learning rate of 0 no epoch is better than the first."""
    command = ["train", data, *COMMON, *LSTM, "--lr", 0, "--save-dir", tmp_path]
    command.remove("--disable-validation")

    def epochs_after(*more):
        done = succeed(*command, *more)
        state = torch.load(tmp_path / "checkpoint_last.pt")["extra_state"]["train_iterator"]
        return state["epoch"] - 1, "nothing to train: " in done.stdout + done.stderr

    assert epochs_after("--patience", 3, "--max-epoch", 3) == (3, False)
    assert epochs_after("--patience", 3) == (4, False)
    assert epochs_after("--patience", 3) == (4, True)
    assert epochs_after("--patience", 4) == (5, False)
    assert epochs_after("--patience", 2, "--reset-meters") == (8, False)
    assert epochs_after("--patience", 2, "--reset-optimizer") == (11, False)


def rates(data, folder, *options):
    """Learning rates after each update of a run without moments, and its text."""
    command = ["train", data, *COMMON, *LSTM, "--save-dir", folder, "--log-format", "json"]
    if "reduce_lr_on_plateau" in options:
        command.remove("--disable-validation")
    done = succeed(*command, "--log-interval", 1, "--no-save-optimizer-state", *options)
    lines = re.findall(r"\| train_inner \| (\{.*\})", done.stdout + done.stderr)
    return [float(json.loads(line)["lr"]) for line in lines], done.stdout + done.stderr


def test_updates_and_warmup_continue_without_the_state_of_the_optimizer(data, tmp_path):
    """The learning rate rises by 0.01 in 20 updates."""
    schedule = ["--lr-scheduler", "inverse_sqrt", "--warmup-updates", 20]
    found, said = rates(data, tmp_path, *schedule, "--max-update", 10)
    assert found == pytest.approx([0.0005 * update for update in range(1, 11)])
    found, said = rates(data, tmp_path, *schedule, "--max-update", 10)
    assert found == []
    assert "nothing to train: " in said
    found, said = rates(data, tmp_path, *schedule, "--max-update", 13)
    assert found == pytest.approx([0.0055, 0.006, 0.0065])
    assert "has no state of the optimizer: training continues after update 10" in said
    assert torch.load(tmp_path / "checkpoint_last.pt")["optimizer_history"][-1]["num_updates"] == 13


def test_a_rate_that_has_been_reduced_remains_without_the_state_of_the_optimizer(data, tmp_path):
    """With this threshold no epoch improves on the first: the second and third halve the rate."""
    schedule = ["--lr-scheduler", "reduce_lr_on_plateau", "--lr-shrink", 0.5, "--lr-patience", 0]
    schedule += ["--lr-threshold", 0.9]
    found, _ = rates(data, tmp_path, *schedule, "--max-epoch", 3)
    assert sorted(set(found)) == [0.005, 0.01]
    found, _ = rates(data, tmp_path, *schedule, "--max-epoch", 4)
    assert set(found) == {0.0025}


def test_a_finished_training_of_another_folder_is_refused(data, tmp_path):
    """Nothing would be trained, and --save-dir stay empty."""
    command = ["train", data, *COMMON, *LSTM, "--max-update", 2, "--save-dir"]
    succeed(*command, tmp_path / "done")
    last = tmp_path / "done" / "checkpoint_last.pt"
    done = run(*command, tmp_path / "new", "--restore-file", last)
    assert done.returncode != 0
    said = (
        f"--restore-file {last}: nothing to train: it has 2 updates (0 epochs): raise --max-update"
    )
    assert said in done.stderr
    assert not list((tmp_path / "new").glob("*.pt"))


def run_until(data, folder, mode, updates, *more):
    """The checkpoint of a training, and whether it said that there is nothing to train."""
    options = [*COMMON, *MODES[mode], "--max-update", updates, "--save-dir", folder, *more]
    done = succeed("train", data, *options)
    says = "nothing to train: " in done.stdout + done.stderr
    return torch.load(folder / "checkpoint_last.pt"), says


SIZES = ["--embed-dim", 8, "--hidden-size", 8, "--joint-dim", 8, *PAIR]


@pytest.mark.parametrize("arch", ["joint_lstm", "luong_lstm"])
def test_model_options_that_have_changed_are_reported(arch, data, tmp_path):
    layer = [] if arch == "joint_lstm" else ["--output-layer", "joint"]
    command = ["train", data, *COMMON, "--arch", arch, *layer, *SIZES, "--save-dir", tmp_path]
    first = succeed(*command, "--joint-activation", "tanh", "--max-update", 2)
    same = succeed(*command, "--joint-activation", "tanh", "--max-update", 4)
    changed = succeed(*command, "--joint-activation", "relu", "--max-update", 6)
    tuning = ["--finetune-from-model", tmp_path / "checkpoint_last.pt", "--max-update", 2]
    tuning = [*command[:-1], tmp_path / "tuned", *tuning]
    tuned = succeed(*tuning, "--joint-activation", "tanh")
    said = [run.stdout + run.stderr for run in (first, same, changed, tuned)]
    assert [text.count("other model options") for text in said] == [0, 0, 1, 1]
    options = "with other model options: --joint-activation"
    assert f"the training continues {options} 'relu' (checkpoint: 'tanh')" in said[2]
    assert f"starts from the checkpoint {options} 'tanh' (checkpoint: 'relu')" in said[3]


@pytest.mark.parametrize("optimizer", ["adam", "lazy_adam", "sgd"])
def test_options_of_the_optimizer_that_its_state_overrides_are_reported(optimizer, data, tmp_path):
    command = ["train", data, *COMMON, *LSTM, "--save-dir", tmp_path, "--optimizer", optimizer]
    decayed = ["--weight-decay", 0.5, "--lr", 0.02]
    overrides = ["--optimizer-overrides", "{'weight_decay': 0.5}"]
    succeed(*command, "--max-update", 2)
    same, changed, overridden = (
        succeed(*command, *more, "--max-update", updates)
        for updates, more in ((4, []), (6, decayed), (8, [*decayed, *overrides]))
    )
    said = "--weight-decay 0.5 has no effect: the training continues with the optimizer's 0.0 (to"
    assert said in changed.stdout + changed.stderr
    assert (changed.stdout + changed.stderr).count("has no effect") == 1
    for silent in (same, overridden):
        assert "has no effect" not in silent.stdout + silent.stderr


def test_fine_tuning_does_not_report_options_of_the_layer_that_it_replaces(data, tmp_path):
    command = ["train", data, *COMMON, "--embed-dim", 8, "--hidden-size", 8, *PAIR]
    before = ["--arch", "joint_lstm", "--joint-dim", 8, "--joint-activation", "relu"]
    succeed(*command, *before, "--max-update", 2, "--save-dir", tmp_path)
    tuning = ["--finetune-from-model", tmp_path / "checkpoint_last.pt", "--max-update", 2]
    tuning += ["--save-dir", tmp_path / "tuned", "--arch", "luong_lstm", "--dropout", ".2"]
    done = succeed(*command, *tuning)
    said = done.stdout + done.stderr
    (line,) = (line for line in said.splitlines() if "other model options" in line)
    assert line.endswith("other model options: --dropout 0.2 (checkpoint: 0.1)"), line


@pytest.mark.parametrize("saved", [[], ["--no-save-optimizer-state"]], ids=["whole", "no moments"])
def test_another_schedule_of_the_learning_rate_is_refused_unless_it_is_reset(saved, data, tmp_path):
    command = ["train", data, *COMMON, *LSTM, *saved, "--save-dir", tmp_path]
    command.remove("--disable-validation")
    warmup = ["--lr-scheduler", "inverse_sqrt", "--warmup-updates", 100]
    plateau = ["--lr-scheduler", "reduce_lr_on_plateau", "--lr-shrink", 0.5]
    rise = ["--lr-scheduler", "shrink_after_rise"]

    def refused(old, *options):
        done = run(*command, *options, "--max-update", 9)
        assert done.returncode != 0
        assert "Traceback" not in done.stderr
        (line,) = (line for line in done.stderr.splitlines() if "error: " in line)
        new = options[1] if options else "fixed"
        assert line.endswith(
            f"{tmp_path}/checkpoint_last.pt was trained with another --lr-scheduler ({old}; now "
            f"{new}): use that of the training, or reset the schedule by --reset-lr-scheduler"
        )

    succeed(*command, "--max-update", 2)
    for schedule in (warmup, plateau, rise):
        refused("fixed", *schedule)
    succeed(*command, *warmup, "--max-update", 4, "--reset-lr-scheduler")
    # fairseq would take the state of the one for one of the other.
    for schedule in (plateau, []):
        refused("inverse_sqrt", *schedule)
    succeed(*command, *warmup, "--max-update", 6)
    succeed(*command, "--max-update", 8, "--reset-optimizer")
    updates = torch.load(tmp_path / "checkpoint_last.pt")["optimizer_history"][-1]["num_updates"]
    assert updates == 8


AVERAGE = ["--store-ema", "--ema-decay", 0.75]


@pytest.mark.parametrize("more", [[], ["--ema-fp32"]], ids=["as the model", "float32"])
@pytest.mark.parametrize("how", ["resumed", "restored", "fine-tuned"])
def test_a_moving_average_that_begins_later_starts_at_the_loaded_weights(how, more, data, tmp_path):
    """After n updates it is ``d^n w_0 + (1 - d) sum_i d^(n - i) w_i``, here with n = 2."""
    command = ["train", data, *COMMON, *LSTM, "--save-interval-updates", 1, "--save-dir"]
    succeed(*command, tmp_path / "first", "--max-update", 3)
    last = tmp_path / "first" / "checkpoint_last.pt"
    start = torch.load(last)["model"]
    names = ("optimizer", "dataloader", "meters", "lr-scheduler")
    folder, updates, options = {
        "resumed": (tmp_path / "first", [4, 5], []),
        "restored": (
            tmp_path / "new",
            [1, 2],
            ["--restore-file", last, *(f"--reset-{name}" for name in names)],
        ),
        "fine-tuned": (tmp_path / "new", [1, 2], ["--finetune-from-model", last]),
    }[how]
    done = succeed(*command, folder, *AVERAGE, *more, *options, "--max-update", updates[-1])
    says = "has no moving average (--store-ema): it starts at the weights"
    assert (says in done.stdout + done.stderr) == (how != "fine-tuned")  # which lists all tensors
    weights = [torch.load(folder / f"checkpoint_1_{update}.pt")["model"] for update in updates]
    found = torch.load(folder / "checkpoint_last.pt")["extra_state"]
    for name, value in start.items():
        if not value.is_floating_point():
            continue
        expected = 0.75**2 * value + 0.25 * (0.75 * weights[0][name] + weights[1][name])
        torch.testing.assert_close(found["ema"][name], expected)
        if more:
            torch.testing.assert_close(found["ema_fp32_params"][name], expected)


@pytest.mark.parametrize(
    ("made", "says"), [("average", "an average of checkpoints"), ("export", "an exported model")]
)
def test_averages_and_exports_are_not_continued_but_fine_tuned(made, says, data, tmp_path):
    command = ["train", data, *COMMON, *LSTM, "--save-interval-updates", 1, "--save-dir"]
    succeed(*command, tmp_path / "first", "--max-update", 3)
    mean = tmp_path / "mean.pt"
    parts = [tmp_path / "first" / f"checkpoint_1_{update}.pt" for update in (2, 3)]
    if made == "average":
        average([str(part) for part in parts], mean)
    else:
        export_checkpoint(str(parts[0]), mean)
    for more in ([], ["--reset-optimizer"]):  # which keeps the epoch
        result = run(*command, tmp_path / "new", "--restore-file", mean, "--max-update", 5, *more)
        assert result.returncode != 0
        assert re.search(f"{says} .* use --finetune", result.stderr.splitlines()[-1])
        assert not list((tmp_path / "new").glob("*.pt"))
    anew = [f"--reset-{name}" for name in ("optimizer", "dataloader", "meters", "lr-scheduler")]
    for options in (["--finetune-from-model", mean], ["--restore-file", mean, *anew]):
        folder = tmp_path / options[0]
        succeed(*command, folder, *options, "--max-update", 2)
        assert (folder / "checkpoint_last.pt").exists()
