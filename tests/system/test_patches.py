"""The patches of ``fairseq_outlayers/patches`` through fairseq's own commands."""

import os
import shutil
import signal
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_outlayers.checkpoints.stored import load_stored
from tests.system import kill_at_save
from tests.system.commands import PLUGIN, run
from tests.system.random_text import make_data

pytestmark = pytest.mark.system

TEST_SENTENCES = 21  # two more batches of 8, and 5 sentences that stock fairseq drops


def train(data, save_dir, *options, user_dir=PLUGIN, **environment):
    fixed = (
        f"--user-dir {user_dir} --arch luong_lstm --embed-dim 8 --hidden-size 8 --cpu "
        "--optimizer adam --lr 0.01 --max-tokens 400 --no-progress-bar --num-workers 0 "
        f"--save-dir {save_dir}"
    )
    return run("train", data, *fixed.split(), *options, **environment)


def generate(data, checkpoint, **environment):
    options = f"--user-dir {PLUGIN} --cpu --beam 1 --max-len-b 3 --num-workers 0 --path"
    return run("generate", data, *options.split(), checkpoint, **environment)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    make_data(folder, test_sentences=TEST_SENTENCES)
    return folder / "bin"


@pytest.fixture(scope="module")
def other_data(data):
    """The same data under a target dictionary of the same size with two words exchanged."""
    folder = data.parent / "bin_other"
    shutil.copytree(data, folder)
    path = folder / "dict.yy.txt"
    first, second, *rest = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([second, first, *rest]) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def training(data):
    """Two epochs with a save after each; during the second save children are killed."""
    save_dir = data.parent / "checkpoints"
    result = train(
        data,
        save_dir,
        *["--max-epoch", "2", "--eval-bleu", "--eval-bleu-detok", "space", "--eval-bleu-args"],
        '{"beam": 1, "max_len_b": 3}',
        user_dir=Path(kill_at_save.__file__).parent,
        fresh=True,  # warnings come at imports too
        **{kill_at_save.SWITCH: "1"},
    )
    assert result.returncode == 0, result.stderr
    return save_dir, result


def load(path):
    return checkpoint_utils.load_checkpoint_to_cpu(str(path))


@pytest.fixture(scope="module")
def evil(training):
    """A checkpoint that makes a folder beside it when its code runs; path and folder."""
    save_dir, _ = training
    path, ran = save_dir.parent / "evil" / "checkpoint_last.pt", save_dir.parent / "ran"
    path.parent.mkdir()
    code = type("Code", (), {"__reduce__": lambda self: (os.mkdir, (str(ran),))})
    torch.save({**load_stored(str(save_dir / "checkpoint_last.pt")), "more": code()}, path)
    return path, ran


def test_every_sentence_is_translated_when_their_number_is_no_multiple_of_8(data, training):
    result = generate(data, training[0] / "checkpoint_best.pt")
    assert result.returncode == 0, result.stderr
    translated = [line for line in result.stdout.splitlines() if line.startswith("H-")]
    assert len(translated) == TEST_SENTENCES


def test_a_run_prints_no_warning(training):
    _, result = training
    assert "Warning" not in result.stdout + result.stderr


@pytest.mark.parametrize("name", kill_at_save.KILLS)
def test_a_kill_during_a_save_leaves_every_checkpoint_loadable(training, name):
    folder = Path(kill_at_save.folder_of(training[0], name))
    died_of = int(Path(f"{folder}.signal").read_text(encoding="utf-8"))
    assert died_of in {signal.SIGKILL, signal.SIGXFSZ}
    states = {path.name: load(path) for path in folder.glob("*.pt")}
    assert {"checkpoint1.pt", "checkpoint_best.pt", "checkpoint_last.pt"} <= set(states)
    epochs = {state["extra_state"]["train_iterator"]["epoch"] for state in states.values()}
    assert epochs <= {2, 3}  # the epoch to go on with, after the first save or the second


def test_training_resumes_after_a_kill_in_the_middle_of_a_copy(data, training):
    folder = kill_at_save.folder_of(training[0], "copy-2-byte-30000")
    result = train(data, folder, *["--max-epoch", "3", "--disable-validation"])
    assert result.returncode == 0, result.stderr
    assert "Loaded checkpoint" in result.stdout + result.stderr
    assert load(f"{folder}/checkpoint_last.pt")["extra_state"]["train_iterator"]["epoch"] == 4


def assert_refused(result, *parts):
    """Exit status 1, and one line of explanation as the last thing printed."""
    assert result.returncode == 1
    assert "Traceback" not in result.stdout + result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    for part in parts:
        assert part in last


def test_generate_refuses_a_checkpoint_with_code_and_does_not_run_it(data, evil):
    path, ran = evil
    assert_refused(generate(data, path), str(path), "mkdir")
    assert not ran.exists()


def test_resuming_refuses_a_checkpoint_with_code_and_does_not_run_it(data, evil):
    path, ran = evil
    result = train(data, path.parent)
    assert_refused(result, str(path), "mkdir")
    assert not ran.exists()


def test_generate_refuses_another_dictionary_of_the_same_size(other_data, training):
    result = generate(other_data, training[0] / "checkpoint_best.pt")
    assert_refused(result, "another target dictionary", "both have", "Pass the data folder")
    assert "H-" not in result.stdout


def test_resuming_refuses_another_dictionary_of_the_same_size(other_data, training):
    result = train(other_data, training[0])
    assert_refused(result, "another target dictionary", "both have", "Pass the data folder")


def test_constraints_of_interactive_input_are_read_after_its_tabs(data, training):
    options = f"--user-dir {PLUGIN} --cpu --beam 4 --max-len-b 9 --constraints --path".split()
    path = training[0] / "checkpoint_best.pt"
    result = run("interactive", data, *options, path, stdin="xx1\u00a0xx2\tyy3\tyy5\n")
    assert result.returncode == 0, result.stderr
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert ["S-0", "xx1 xx2"] in lines
    assert [line[1] for line in lines if line[0] == "C-0"] == ["yy3", "yy5"]
    (found,) = (line[-1].split() for line in lines if line[0] == "H-0")
    assert {"yy3", "yy5"} <= set(found)


@pytest.mark.parametrize("option", [[], ["--upsample-primary", "2"]])
def test_validation_sets_and_parts_of_the_training_text_are_joined(data, option, tmp_path):
    folder = tmp_path / "bin"
    shutil.copytree(data, folder)
    for split in ("train", "valid"):
        for path in data.glob(f"{split}.*"):
            shutil.copy(path, folder / path.name.replace(split, f"{split}1"))
    more = ["--combine-val", "--max-epoch", "1", "--batch-size", "8", *option]
    result = train(folder, tmp_path / "checkpoints", *more)
    assert result.returncode == 0, result.stderr
    state = load(tmp_path / "checkpoints" / "checkpoint_last.pt")
    copies = int(option[1]) if option else 1
    assert state["optimizer_history"][-1]["num_updates"] == (copies + 1) * 120 // 8
