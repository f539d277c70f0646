import os
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.file_io import PathManager

from fairseq_outlayers.checkpoints.free_space import size_of
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.required import atomic_checkpoint

TABLE = torch.zeros(300_000)

STATES = {
    "tensors in all kinds of containers": {
        "model": {"a": TABLE, "b": torch.zeros(1000, dtype=torch.float16)},
        "history": [{"moments": (torch.zeros(50_000), torch.zeros(50_000))}, None, "text"],
    },
    "one table under two names": {"input": TABLE, "output": TABLE.view(300, 1000)},
    "a view of a table, which is saved whole": {"row": TABLE[:3]},
    "arrays": {"count": np.zeros(200_000, dtype=np.int64)},
    "nothing": {},
}


@pytest.fixture
def free(monkeypatch):
    """Set how many bytes the disk of a folder has left; returns the folders that were asked for."""
    asked = []

    def have(size):
        def disk_usage(folder):
            asked.append(str(folder))
            return SimpleNamespace(free=size)

        monkeypatch.setattr(shutil, "disk_usage", disk_usage)
        return asked

    return have


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", STATES)
def test_the_estimate_is_the_size_of_the_file_but_for_names_and_numbers(name, tmp_path):
    path = tmp_path / "state.pt"
    torch.save(STATES[name], path)
    assert 0 <= path.stat().st_size - size_of(STATES[name]) < 5000


def test_row_sparse_tensors_are_left_out_of_the_estimate():
    rows = torch.zeros(5, 2).index_fill(0, torch.tensor([1]), 1.0).to_sparse(1)
    assert size_of({"rows": rows, "dense": torch.zeros(3)}) == 12


def test_a_save_that_does_not_fit_is_not_begun(tmp_path, monkeypatch, free):
    path = tmp_path / "checkpoint_last.pt"
    checkpoint_utils.torch_persistent_save({"epoch": 1}, str(path))
    begun = []
    monkeypatch.setattr(torch, "save", lambda *args: begun.append(args))
    asked = free(3_999_999)
    state = {"model": {"table": torch.zeros(1_000_000)}}
    message = r"cannot write .*checkpoint_last\.pt: it needs 4\.0 MB, 1 bytes more than its disk "
    with pytest.raises(UserError, match=message + "has free.*unchanged; free disk space"):
        checkpoint_utils.torch_persistent_save(state, str(path))
    assert begun == []
    assert asked == [str(tmp_path)]
    assert torch.load(path) == {"epoch": 1}
    assert names_in(tmp_path) == ["checkpoint_last.pt"]


def test_a_save_that_just_fits_is_made(tmp_path, free):
    free(4_000_000)
    path = tmp_path / "checkpoint_last.pt"
    checkpoint_utils.torch_persistent_save({"table": torch.zeros(1_000_000)}, str(path))
    assert torch.load(path)["table"].shape == (1_000_000,)


def test_a_relative_name_is_saved_where_the_command_runs(tmp_path, monkeypatch, free):
    monkeypatch.chdir(tmp_path)
    asked = free(10)
    checkpoint_utils.torch_persistent_save({"epoch": 1}, "checkpoint1.pt")
    assert asked == [str(tmp_path)]


def test_a_link_needs_no_room(tmp_path, free):
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    first.write_bytes(b"new")
    free(0)
    assert PathManager.copy(str(first), str(last))
    assert os.path.samefile(first, last)


def test_a_copy_that_does_not_fit_is_not_begun(tmp_path, monkeypatch, free):
    monkeypatch.setattr(atomic_checkpoint, "_link", lambda source, path: False)
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_best.pt"
    first.write_bytes(b"new" * 10)
    last.write_bytes(b"old")
    free(29)
    with pytest.raises(UserError, match=r"cannot write .*checkpoint_best\.pt: it needs"):
        PathManager.copy(str(first), str(last), overwrite=True)
    assert last.read_bytes() == b"old"
    assert names_in(tmp_path) == ["checkpoint1.pt", "checkpoint_best.pt"]
