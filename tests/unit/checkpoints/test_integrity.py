"""A damaged checkpoint is found by the checksums in it."""

import os
import random
import shutil
import zipfile

import pytest
import torch

from fairseq_outlayers.checkpoints.integrity import find_damage, newest_whole_beside, require_whole
from fairseq_outlayers.errors import UserError


@pytest.fixture
def path(tmp_path):
    torch.manual_seed(1)
    state = {"model": {f"layer{k}": torch.randn(40, 50) for k in range(4)}, "extra": {"epoch": 3}}
    path = tmp_path / "checkpoint_last.pt"
    torch.save(state, path)
    return path


def data_bytes(path):
    """Offsets of all bytes of the file's entries, what comes before and behind them left out."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for entry in archive.infolist():
            file.seek(entry.header_offset + 26)
            sizes = file.read(4)
            start = (
                entry.header_offset
                + 30
                + sum(int.from_bytes(sizes[k : k + 2], "little") for k in (0, 2))
            )
            yield from range(start, start + entry.compress_size)


def test_a_whole_checkpoint_is_whole(path):
    assert find_damage(str(path)) is None
    require_whole(str(path))


def test_every_flipped_bit_of_a_tensor_or_its_description_is_found(path):
    whole, rng = path.read_bytes(), random.Random(1)
    for offset in rng.sample(list(data_bytes(path)), 200):
        changed = bytearray(whole)
        changed[offset] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        assert find_damage(str(path)) is not None, offset


def test_a_block_of_zeros_is_found(path):
    whole = path.read_bytes()
    for start in range(4096, len(whole) - 8192, 4096):
        path.write_bytes(whole[:start] + bytes(4096) + whole[start + 4096 :])
        assert find_damage(str(path)) is not None, start


def test_a_compressed_entry_is_refused_unread(path, monkeypatch):
    small = path.parent / "compressed.pt"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(small, "w") as other:
        for number, name in enumerate(archive.namelist()):
            method = zipfile.ZIP_DEFLATED if number == 2 else zipfile.ZIP_STORED
            other.writestr(name, archive.read(name), method)
    compressed = archive.namelist()[2]
    opened, open_entry = [], zipfile.ZipFile.open

    def record(archive, entry, *args, **kwargs):
        opened.append(entry.filename)
        return open_entry(archive, entry, *args, **kwargs)

    monkeypatch.setattr(zipfile.ZipFile, "open", record)
    found = find_damage(str(small))
    assert found == f"'{compressed}' in it is compressed, which fairseq never does"
    assert opened == archive.namelist()[:2]


def test_a_file_cut_short_anywhere_is_found(path):
    whole = path.read_bytes()
    for size in [*range(2, len(whole), len(whole) // 40), len(whole) - 1]:
        path.write_bytes(whole[:size])
        assert find_damage(str(path)) is not None, size


def test_the_newest_whole_checkpoint_is_offered_and_other_names_of_the_damaged_one_are_not(path):
    folder = path.parent
    for number, name in enumerate(["checkpoint1.pt", "checkpoint2.pt", "checkpoint3.pt"]):
        shutil.copy(path, folder / name)
        os.utime(folder / name, (number, number))
    whole = path.read_bytes()
    broken = whole[: len(whole) // 2] + b"\xff\xfe" + whole[len(whole) // 2 + 2 :]
    (folder / "checkpoint3.pt").write_bytes(broken)
    (folder / "text.pt").write_text("no checkpoint")
    path.write_bytes(broken)
    os.link(path, folder / "checkpoint_best.pt")
    assert newest_whole_beside(str(path)) == str(folder / "checkpoint2.pt")
    message = rf"checkpoint_last\.pt is damaged: .*--restore-file {folder}/checkpoint2\.pt"
    with pytest.raises(UserError, match=message):
        require_whole(str(path))


@pytest.mark.parametrize(
    ("damaged", "other", "is_offered"),
    [
        ("model.pt", "lm.pt", False),
        ("train.xx", "lm.pt", False),
        ("checkpoint_last.pt", "averaged.pt", False),
        ("checkpoint_last.pt", "checkpoint_worst.pt", False),
        ("checkpoint_last.pt", "checkpoint_last-shard1.pt", False),
        ("checkpoint_last-shard1.pt", "checkpoint3-shard2.pt", False),
        ("checkpoint_last-shard1.pt", "checkpoint3.pt", False),
        ("checkpoint_last-shard1.pt", "checkpoint3-shard1.pt", True),
        ("checkpoint_last-rank-0.pt", "checkpoint.best_loss_2.500-rank-0.pt", True),
        ("model.pt", "checkpoint_last.pt", True),
        ("checkpoint_last.pt", "checkpoint_best.pt", True),
        ("checkpoint_last.pt", "checkpoint12.pt", True),
        ("checkpoint_last.pt", "checkpoint_1_200.pt", True),
        ("checkpoint_last.pt", "checkpoint.best_bleu_27.10.pt", True),
    ],
)
def test_only_checkpoints_by_fairseqs_names_and_of_the_same_shard_are_offered(
    path, damaged, other, is_offered
):
    folder = path.parent / "apart"
    folder.mkdir()
    shutil.copy(path, folder / other)
    (folder / damaged).write_bytes(b"PK damaged")
    found = newest_whole_beside(str(folder / damaged))
    assert found == (str(folder / other) if is_offered else None)


def test_without_another_one_that_is_said(path):
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match="no other whole checkpoint"):
        require_whole(str(path))


def test_a_file_of_torchs_old_format_has_no_checksums_and_passes(tmp_path):
    path = tmp_path / "old.pt"
    torch.save({"epoch": 1}, path, _use_new_zipfile_serialization=False)
    assert find_damage(str(path)) is None


def test_a_checkpoint_that_vanishes_is_no_traceback(tmp_path):
    assert "cannot be read (No such file" in find_damage(str(tmp_path / "no.pt"))


@pytest.mark.parametrize("content", [b"", b"no zip"])
def test_a_file_without_checksums_is_not_offered(path, content):
    (path.parent / "checkpoint3.pt").write_bytes(content)
    assert newest_whole_beside(str(path)) is None
