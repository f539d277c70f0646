"""Nothing in a save folder is overwritten by a run that should not write there."""

import os
import shutil
from pathlib import Path

import pytest

from fairseq_outlayers.checkpoints import folder_lock
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.required import locked_folder
from tests.system.commands import PLUGIN, run, succeed

pytestmark = pytest.mark.system

TRAINING = (
    f"--user-dir {PLUGIN} --arch luong_lstm --embed-dim 8 --hidden-size 8 --cpu --optimizer adam "
    "--lr 0.01 --batch-size 8 --no-progress-bar --disable-validation --max-epoch 1"
).split()


@pytest.fixture(scope="module")
def trained(random_data, tmp_path_factory):
    """A folder with the checkpoints of an epoch."""
    folder = tmp_path_factory.mktemp("trained")
    succeed("train", random_data, *TRAINING, "--save-dir", folder)
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(trained, copy)
    (copy / folder_lock.NAME).unlink()
    return copy


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.pt")}


def refused(data, folder, *options, fresh=False):
    """What a training that may not write into the folder prints: one line."""
    before = contents(folder)
    command = ["train", data, *TRAINING, "--save-dir", folder, "--max-epoch", "2", *options]
    result = run(*command, fresh=fresh)
    assert result.returncode == 1
    assert contents(folder) == before
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, result.stderr[-3000:]
    assert "Traceback" not in result.stderr
    return lines[0]


def test_a_second_run_in_the_folder_is_refused(random_data, folder):
    holder, ready = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        folder_lock.acquire(str(folder))
        os.write(ready[1], b".")
        os.read(holder[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    try:
        assert f"process {child} on " in refused(random_data, folder)
    finally:
        os.write(holder[1], b".")
        os.waitpid(child, 0)


def test_a_damaged_last_checkpoint_stops_the_run_that_would_resume(random_data, folder):
    last = folder / "checkpoint_last.pt"
    damaged = bytearray(last.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    last.unlink()  # it may be a link to another checkpoint
    last.write_bytes(damaged)
    line = refused(random_data, folder)
    assert "checkpoint_last.pt is damaged" in line
    assert "checkpoint1.pt" in line


@pytest.mark.parametrize("kind", [[], ["--finetune-from-model"]])
def test_a_new_training_over_earlier_checkpoints_is_refused(random_data, folder, trained, kind):
    (folder / "checkpoint_last.pt").unlink()
    model = [trained / "checkpoint_last.pt"] if kind else []
    line = refused(random_data, folder, *kind, *model)
    assert "but no checkpoint_last.pt to resume from" in line


def test_a_command_with_a_checkpoint_of_another_folder_does_not_start_over(
    random_data, trained, folder, tmp_path, monkeypatch
):
    """As it would when it is run again to resume: --restore-file is for the first time."""
    first = trained / "checkpoint_last.pt"
    line = refused(random_data, folder, "--restore-file", first, "--reset-optimizer")
    assert "leave out --restore-file and the --reset options to resume it, or name another" in line
    assert f"from --restore-file {first} would overwrite" in line
    # A name without a path is in the current folder.
    monkeypatch.chdir(trained)
    shutil.copy(first, "other.pt")
    named = ["--restore-file", "other.pt", "--reset-optimizer"]
    line = refused(random_data, folder, *named, fresh=True)
    Path("other.pt").unlink()
    assert "from --restore-file other.pt would overwrite" in line
    command = ["train", random_data, *TRAINING, "--max-epoch", "2"]
    own = ["--save-dir", folder, "--restore-file", folder / "checkpoint_last.pt"]
    new = ["--save-dir", tmp_path / "new", "--restore-file", first]
    for options in (own, new):
        succeed(*command, *options)


def test_the_newest_checkpoint_is_named(tmp_path):
    for age, name in enumerate(("checkpoint_best.pt", "checkpoint1.pt", "checkpoint10.pt")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    with pytest.raises(UserError, match=r"--restore-file \S+/checkpoint10\.pt to resume"):
        locked_folder._require_last(str(tmp_path), str(tmp_path / "checkpoint_last.pt"))
