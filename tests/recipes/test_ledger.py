"""A ledger never loses a line, never shows half of one, and knows which arms it holds."""

import hashlib
import json
import multiprocessing
import os
import subprocess
import time

import pytest

from recipes.lab import ledger
from recipes.lab.settings import UserError


def entry(arm="tied", seed=1, setting=None, **more):
    setting = setting or {"train": "--lr 1"}
    key = ledger.setting_key(setting)
    return {"arm": arm, "seed": seed, "setting": setting, "key": key, "figures": {}, **more}


def append_ten(path, worker):
    for number in range(10):
        ledger.append(path, entry(arm=f"{worker}-{number}", filler="x" * 5000))


def test_an_arm_is_found_by_name_setting_and_seed_together(tmp_path):
    path = tmp_path / "results" / "ledger.jsonl"
    assert ledger.find(path, "tied", {"train": "--lr 1"}, 1) is None
    ledger.append(path, entry())
    assert ledger.find(path, "tied", {"train": "--lr 1"}, 1)["arm"] == "tied"
    assert ledger.find(path, "linear", {"train": "--lr 1"}, 1) is None
    assert ledger.find(path, "tied", {"train": "--lr 2"}, 1) is None
    assert ledger.find(path, "tied", {"train": "--lr 1"}, 2) is None


def test_the_newest_line_of_an_arm_is_found(tmp_path):
    path = tmp_path / "ledger.jsonl"
    for number in (1, 2):
        ledger.append(path, entry(number=number))
    assert ledger.find(path, "tied", {"train": "--lr 1"}, 1)["number"] == 2


def test_a_setting_key_ignores_the_order_of_its_entries():
    assert ledger.setting_key({"a": 1, "b": 2}) == ledger.setting_key({"b": 2, "a": 1})
    assert ledger.setting_key({"a": 1, "b": 2}) != ledger.setting_key({"a": 2, "b": 1})


def test_a_fingerprint_follows_contents_and_not_the_folder(tmp_path):
    for folder, text in (("one", "x"), ("two", "x"), ("three", "y")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "dict.de.txt").write_text(text)
    one, two, three = ([tmp_path / f / "dict.de.txt"] for f in ("one", "two", "three"))
    assert ledger.fingerprint(one) == ledger.fingerprint(two) != ledger.fingerprint(three)


def test_a_file_is_hashed_once_while_it_is_the_same(tmp_path, monkeypatch):
    path, read, digest = tmp_path / "train.bin", [], hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *file: read.append(1) or digest(*file))
    path.write_bytes(b"one")
    os.utime(path, ns=(10**18, 10**18))
    first = ledger.fingerprint([path])
    assert ledger.fingerprint([path]) == first
    assert len(read) == 1
    path.write_bytes(b"two")
    os.utime(path, ns=(10**18, 10**18 + 1))
    assert ledger.fingerprint([path]) != first


def test_a_file_that_was_just_written_is_read_again(tmp_path):
    """Two changes within a tick of the file system's clock have one time."""
    path, found = tmp_path / "train.bin", set()
    for text in (b"one", b"two", b"six"):
        path.write_bytes(text)
        os.utime(path, ns=(now := time.time_ns() // 10**9 * 10**9, now))
        found.add(ledger.fingerprint([path]))
    assert len(found) == 3


def test_concurrent_appends_lose_no_line(tmp_path):
    path = tmp_path / "ledger.jsonl"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=append_ten, args=(path, n)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    arms = [line["arm"] for line in ledger.read(path)]
    assert sorted(arms) == sorted(f"{w}-{n}" for w in range(4) for n in range(10))


def test_an_append_that_fails_leaves_the_ledger_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "ledger.jsonl"
    ledger.append(path, entry())
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        ledger.append(path, entry(arm="linear"))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.jsonl"]


def test_a_missing_last_line_feed_joins_no_lines(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text(json.dumps(entry(arm="by hand")))
    ledger.append(path, entry())
    assert [line["arm"] for line in ledger.read(path)] == ["by hand", "tied"]


def test_only_a_line_feed_ends_a_line(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text(json.dumps(entry(arm="a\u2028b\x85c"), ensure_ascii=False) + "\n", "utf-8")
    ledger.append(path, entry())
    assert [line["arm"] for line in ledger.read(path)] == ["a\u2028b\x85c", "tied"]
    path.write_text("")
    assert ledger.read(path) == []


@pytest.mark.parametrize("broken", ['{"arm": "ti', "[1, 2]"])
def test_a_broken_line_is_named(tmp_path, broken):
    path = tmp_path / "ledger.jsonl"
    path.write_text(json.dumps(entry()) + "\n" + broken + "\n")
    with pytest.raises(ValueError, match=r"ledger\.jsonl:2: not "):
        ledger.read(path)


def test_tuning_runs_and_arms_are_not_taken_for_each_other(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger.append(path, entry(kind="tuning"))
    setting = {"train": "--lr 1"}
    assert ledger.find(path, "tied", setting, 1) is None
    assert ledger.find(path, "tied", setting, 1, ledger.TUNING)["kind"] == "tuning"


def test_seconds_of_the_last_epoch_alone_have_another_name(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger.append(path, entry(figures={"train_seconds": 63.0, "bleu": 1}))
    ledger.append(path, entry(figures={"train_seconds": 630.0, "train_seconds_epochs": 10}))
    old, new = (line["figures"] for line in ledger.read(path))
    assert old == {ledger.LAST_EPOCH: 63.0, "bleu": 1}
    assert new["train_seconds"] == 630.0


@pytest.mark.parametrize("path", sorted(ledger.ROOT.glob("results/**/ledger.jsonl")))
def test_the_keys_of_the_ledgers_are_those_of_their_settings(path):
    lines = ledger.read(path)
    assert [ledger.setting_key(line["setting"]) for line in lines] == [e["key"] for e in lines]


def test_a_second_process_cannot_take_a_run_folder(tmp_path):
    with (
        ledger.locked(tmp_path / "run"),
        pytest.raises(BlockingIOError),
        ledger.locked(tmp_path / "run", wait=False),
    ):
        pass
    with ledger.locked(tmp_path / "run", wait=False):
        pass


def test_the_commit_says_dirty_except_for_results(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    git("init", "--quiet")
    (tmp_path / "code.py").write_text("1")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    clean = ledger.commit()
    assert len(clean) == 12
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "ledger.jsonl").write_text("{}")
    assert ledger.commit() == clean
    (tmp_path / "code.py").write_text("2")
    assert ledger.commit() == f"{clean}+dirty"


def test_a_folder_outside_git_has_no_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert ledger.commit() == "unknown"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"key": None}, "key is None, not of type str"),
        ({"figures": None}, "figures is None, not of type dict"),
        ({"seed": "1"}, "seed is '1', not of type int"),
    ],
)
def test_a_line_without_the_fields_of_a_run_is_named(tmp_path, changed, message):
    path = tmp_path / "ledger.jsonl"
    path.write_text(f"{json.dumps(entry())}\n{json.dumps(entry(**changed))}\n")
    with pytest.raises(UserError, match=f"ledger.jsonl:2: {message}; fix or remove the line"):
        ledger.read(path)


def test_bytes_of_another_encoding_are_one_line(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b'{"arm": "\xfc"}\n')
    with pytest.raises(UserError, match=r"ledger.jsonl: not UTF-8 \(.*0xfc"):
        ledger.read(path)


def test_a_fingerprint_ignores_the_order_of_files(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_text(path.name)
    assert ledger.fingerprint(paths) == ledger.fingerprint(paths[::-1])


def test_a_ledger_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path):
    path = tmp_path / "ledger.jsonl"
    before = os.umask(0o027)
    try:
        ledger.append(path, entry())
        new = path.stat().st_mode & 0o777
        path.chmod(0o664)
        ledger.append(path, entry(arm="linear"))
    finally:
        os.umask(before)
    assert (new, path.stat().st_mode & 0o777) == (0o640, 0o664)


def test_a_fairseq_of_another_name_is_in_the_versions(monkeypatch):
    def version(package):
        if package == "fairseq-fixed":
            raise ledger.PackageNotFoundError
        return f"version of {package}"

    monkeypatch.setattr(ledger, "version", version)
    found = ledger.versions()
    assert (found["fairseq-fixed"], found["fairseq"]) == ("not installed", "version of fairseq")


def test_a_ledger_behind_a_link_grows_where_it_is(tmp_path):
    shared = tmp_path / "shared.jsonl"
    ledger.append(shared, entry())
    link = tmp_path / "results" / "ledger.jsonl"
    link.parent.mkdir()
    link.symlink_to(shared)
    ledger.append(link, entry(arm="linear"))
    assert link.is_symlink()
    assert len(ledger.read(shared)) == 2


def test_a_fingerprint_is_that_of_older_lines(tmp_path):
    """Another one would train every arm again. Names count: a dictionary of another language."""
    for name in ("dict.de.txt", "train.bin", "dict.en.txt"):
        (tmp_path / name).write_text("the")
    one, text, two = (tmp_path / name for name in ("dict.de.txt", "train.bin", "dict.en.txt"))
    assert ledger.fingerprint([one, text]) != ledger.fingerprint([two, text])
    assert ledger.fingerprint([one, text]) == "69cadf516143"
