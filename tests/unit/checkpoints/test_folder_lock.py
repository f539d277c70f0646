"""One run in a save folder, whoever dies how."""

import contextlib
import os
import signal
import socket
import subprocess
import sys

import pytest

from fairseq_outlayers.checkpoints import folder_lock
from fairseq_outlayers.errors import UserError

# Loaded by path: the package would import torch and fairseq.
HOLDER = f"""
import importlib.util, os, sys, time, types
errors = types.ModuleType("fairseq_outlayers.errors")
errors.UserError = ValueError
sys.modules["fairseq_outlayers.errors"] = errors
spec = importlib.util.spec_from_file_location("lock", {folder_lock.__file__!r})
lock = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lock)
lock.acquire(sys.argv[1])
if sys.argv[2] == "fork" and os.fork() == 0:
    time.sleep(60)
print("locked", flush=True)
time.sleep(60)
"""


@pytest.fixture
def hold(tmp_path):
    started = []

    def start(kind="alone"):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(tmp_path), kind],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout.readline() == "locked\n"
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_the_second_run_is_refused_with_the_first_ones_process_and_host(tmp_path, hold):
    first = hold()
    message = rf"--save-dir {tmp_path}: process {first.pid} on {socket.gethostname()} is training"
    with pytest.raises(UserError, match=message):
        folder_lock.acquire(str(tmp_path))


@pytest.mark.parametrize("kind", ["alone", "fork"])
def test_a_killed_run_leaves_no_lock_behind_even_if_its_workers_live_on(tmp_path, hold, kind):
    first = hold(kind)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    folder_lock.acquire(str(tmp_path))
    own = f"process {os.getpid()} on {socket.gethostname()}\n"
    assert (tmp_path / folder_lock.NAME).read_text() == own


def test_the_same_process_may_ask_again_and_by_another_path(tmp_path):
    folder_lock.acquire(str(tmp_path))
    (tmp_path / "half.pt.unfinished").touch()
    folder_lock.acquire(f"{tmp_path}/.")
    assert (tmp_path / "half.pt.unfinished").exists()


def test_what_killed_runs_left_is_removed(tmp_path):
    for name in ("checkpoint1.pt", "checkpoint2.pt.host-1.unfinished", "checkpoint_last.pt"):
        (tmp_path / name).touch()
    folder_lock.acquire(str(tmp_path))
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["checkpoint1.pt", "checkpoint_last.pt", folder_lock.NAME]


def test_a_file_system_without_locks_is_used_with_a_warning(tmp_path, monkeypatch, caplog):
    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(folder_lock.fcntl, "lockf", refuse)
    folder_lock.acquire(str(tmp_path))
    assert "cannot be locked (No locks available)" in caplog.text


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(UserError, match=r"cannot write .*/training\.lock: No such file"):
        folder_lock.acquire(str(tmp_path / "nowhere"))


def test_a_lock_file_of_another_user_is_named(tmp_path, monkeypatch):
    (tmp_path / folder_lock.NAME).touch()

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(UserError, match="Permission denied; it is another user's: remove it if"):
        folder_lock.acquire(str(tmp_path))
