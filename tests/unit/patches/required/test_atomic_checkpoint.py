import contextlib
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.required import atomic_checkpoint


@contextlib.contextmanager
def disk_full_after(size):
    """Files may grow to ``size`` bytes only; writing more fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def no_links(monkeypatch):
    def refuse(source, path):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


@pytest.fixture
def no_waiting(monkeypatch):
    monkeypatch.setattr(atomic_checkpoint, "SECONDS_BETWEEN_ATTEMPTS", 0)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_copy_is_a_link_and_costs_no_second_file(tmp_path):
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    first.write_bytes(b"new")
    last.write_bytes(b"old")
    assert PathManager.copy(str(first), str(last), overwrite=True)
    assert last.read_bytes() == b"new"
    assert os.path.samefile(first, last)
    assert names_in(tmp_path) == ["checkpoint1.pt", "checkpoint_last.pt"]


def test_saving_one_name_of_a_linked_file_leaves_the_others_alone(tmp_path):
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    checkpoint_utils.torch_persistent_save({"epoch": 1}, str(first))
    PathManager.copy(str(first), str(last))
    checkpoint_utils.torch_persistent_save({"epoch": 2}, str(last))
    assert torch.load(first) == {"epoch": 1}
    assert torch.load(last) == {"epoch": 2}


def test_a_link_left_over_from_a_kill_is_not_written_into(tmp_path):
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_best.pt"
    checkpoint_utils.torch_persistent_save({"epoch": 1}, str(first))
    os.link(first, f"{last}.unfinished")  # as earlier versions named it
    os.link(first, atomic_checkpoint.temporary_name(str(last)))
    checkpoint_utils.torch_persistent_save({"epoch": 2}, str(last))
    assert torch.load(first) == {"epoch": 1}
    assert names_in(tmp_path) == ["checkpoint1.pt", "checkpoint_best.pt"]


def test_writing_asynchronously_leaves_the_other_names_of_a_file_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(PathManager, "opena", staticmethod(open))
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_best.pt"
    checkpoint_utils.torch_persistent_save({"epoch": 1}, str(first))
    PathManager.copy(str(first), str(last))
    checkpoint_utils.torch_persistent_save({"epoch": 2}, str(last), async_write=True)
    assert torch.load(first) == {"epoch": 1}
    assert torch.load(last) == {"epoch": 2}


def test_copying_over_another_name_of_the_same_file_leaves_nothing_behind(tmp_path):
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    first.write_bytes(b"new")
    for _ in range(2):
        assert PathManager.copy(str(first), str(last), overwrite=True)
    assert names_in(tmp_path) == ["checkpoint1.pt", "checkpoint_last.pt"]


@pytest.mark.usefixtures("no_links")
def test_a_file_system_without_links_gets_a_copy(tmp_path):
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    first.write_bytes(os.urandom(3_000_000))
    assert PathManager.copy(str(first), str(last))
    assert last.read_bytes() == first.read_bytes()
    assert not os.path.samefile(first, last)


def test_without_overwrite_an_existing_file_stays(tmp_path):
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    first.write_bytes(b"new")
    last.write_bytes(b"old")
    assert not PathManager.copy(str(first), str(last))
    assert last.read_bytes() == b"old"


@pytest.mark.usefixtures("no_links")
def test_a_copy_that_fails_keeps_the_old_file_and_says_why(tmp_path):
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    first.write_bytes(b"new" * 10_000)
    last.write_bytes(b"old")
    message = r"cannot write .*checkpoint_last\.pt: File too large.*unchanged"
    with disk_full_after(8192), pytest.raises(UserError, match=message):
        PathManager.copy(str(first), str(last), overwrite=True)
    assert last.read_bytes() == b"old"
    assert names_in(tmp_path) == ["checkpoint1.pt", "checkpoint_last.pt"]


@pytest.mark.usefixtures("no_waiting")
def test_a_save_that_fails_keeps_the_old_file_and_says_why(tmp_path):
    path = tmp_path / "checkpoint_best.pt"
    checkpoint_utils.torch_persistent_save({"epoch": 1}, str(path))
    message = r"cannot write .*checkpoint_best\.pt: File too large.*unchanged"
    with disk_full_after(8192), pytest.raises(UserError, match=message):
        checkpoint_utils.torch_persistent_save({"epoch": torch.zeros(10_000)}, str(path))
    assert torch.load(path) == {"epoch": 1}
    assert names_in(tmp_path) == ["checkpoint_best.pt"]


@pytest.mark.usefixtures("no_waiting")
def test_a_second_attempt_does_not_append_to_what_the_first_one_wrote(tmp_path, monkeypatch):
    stock, attempts = torch.save, []

    def fail_once(obj, file):
        attempts.append(obj)
        if len(attempts) == 1:
            file.write(b"half a checkpoint")
            raise OSError(5, "Input/output error")
        stock(obj, file)

    monkeypatch.setattr(torch, "save", fail_once)
    path, expected = tmp_path / "checkpoint1.pt", tmp_path / "expected.pt"
    checkpoint_utils.torch_persistent_save({"epoch": 1}, str(path))
    checkpoint_utils.torch_persistent_save({"epoch": 1}, str(expected))
    assert len(attempts) == 3
    assert path.stat().st_size == expected.stat().st_size
    assert torch.load(path) == {"epoch": 1}


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path, disk_calls):
    checkpoint_utils.torch_persistent_save({"epoch": 1}, str(tmp_path / "checkpoint1.pt"))
    assert disk_calls == ["fsync", "replace"]


def test_other_errors_pass_unchanged_and_leave_nothing_behind(tmp_path):
    with pytest.raises((AttributeError, TypeError), match=r"pickle|local object"):
        checkpoint_utils.torch_persistent_save({"function": lambda: 0}, str(tmp_path / "a.pt"))
    assert names_in(tmp_path) == []


def test_later_saves_under_all_names_change_no_earlier_epoch(tmp_path):
    names = ["checkpoint{}.pt", "checkpoint_best.pt", "checkpoint_last.pt"]
    for epoch in (1, 2, 3):
        first, *others = (str(tmp_path / name.format(epoch)) for name in names)
        checkpoint_utils.torch_persistent_save({"epoch": epoch}, first)
        for other in others:
            PathManager.copy(first, other, overwrite=True)
    found = {path.stem: torch.load(path)["epoch"] for path in tmp_path.iterdir()}
    last_three = {"checkpoint3": 3, "checkpoint_best": 3, "checkpoint_last": 3}
    assert found == {"checkpoint1": 1, "checkpoint2": 2, **last_three}
    assert os.stat(tmp_path / "checkpoint3.pt").st_nlink == 3


def test_each_process_writes_under_a_name_of_its_own_and_clears_up_after_killed_ones(tmp_path):
    path = str(tmp_path / "checkpoint_last.pt")
    mine = atomic_checkpoint.temporary_name(path)
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    of_killed, of_running, elsewhere = (
        mine.replace(f"-{os.getpid()}.", f"-{number}.") for number in (killed.pid, os.getppid(), 7)
    )
    elsewhere = elsewhere.replace(socket.gethostname(), "another-host")
    assert len({mine, of_killed, of_running, elsewhere}) == 4
    for left in (mine, of_killed, of_running, elsewhere):
        Path(left).write_bytes(b"half")
    checkpoint_utils.torch_persistent_save({"epoch": 1}, path)
    kept = sorted(Path(name).name for name in (of_running, elsewhere, path))
    assert names_in(tmp_path) == kept


@pytest.mark.usefixtures("no_links")
def test_a_copy_is_on_the_disk_before_it_gets_its_name(tmp_path, disk_calls):
    first, last = (str(tmp_path / name) for name in ("checkpoint1.pt", "checkpoint_last.pt"))
    checkpoint_utils.torch_persistent_save({"epoch": 1}, first)
    disk_calls.clear()
    PathManager.copy(first, last, overwrite=True)
    assert disk_calls == ["fsync", "replace"]
