"""Checkpoints and a ledger line from commit 77bff7b, before the package was rearranged."""

import json
import tarfile
from pathlib import Path

import pytest
import torch

from recipes.lab import ledger
from tests.old_checkpoints import families

HERE = Path(__file__).parent
NAMES = [*families.TRANSLATION, *families.LANGUAGE_MODELS]


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """The archive unpacked, and the tables that are made anew beside the dictionaries."""
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(HERE / "old_checkpoints.tar.xz") as packed:
        # Python 3.11 before 3.11.4 has no filters.
        packed.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    lines = (folder / "bin" / "dict.yy.txt").read_text(encoding="utf-8").splitlines()
    symbols = ["<s>", "<pad>", "</s>", "<unk>", *(line.split()[0] for line in lines)]
    for data in ("bin", "lm"):
        families.write_tables(folder / data, symbols)
    return folder


@pytest.fixture(scope="module")
def expected(old):
    return torch.load(old / "expected.pt")


def load(old, name):
    data = old / ("lm" if name in families.LANGUAGE_MODELS else "bin")
    return families.load(old / f"{name}.pt", data)


@pytest.mark.parametrize("name", NAMES)
def test_old_checkpoints_load_and_score_and_train_as_before(old, expected, name):
    model, task = load(old, name)
    batch = families.make_batch(task)
    scores = families.scores(model, batch)
    torch.testing.assert_close(scores, expected[name]["scores"], rtol=0, atol=1e-5)
    names, digests = families.train_on(model, task, batch)
    before_names, before = expected[name]["trained"]
    assert names == before_names
    torch.testing.assert_close(digests, before, rtol=1e-6, atol=1e-6)


def test_every_checkpoint_in_the_archive_is_tested(old):
    assert {path.stem for path in old.glob("*.pt")} - {"expected"} == set(NAMES)


def test_a_criterion_with_the_option_correct_targets_is_built_and_says_that_it_does_nothing(
    old, caplog
):
    from fairseq import checkpoint_utils

    path, overrides = str(old / "luong_correct_targets.pt"), {"data": str(old / "bin")}
    _, cfg, task = checkpoint_utils.load_model_ensemble_and_task([path], overrides)
    assert cfg.criterion.correct_targets
    task.build_criterion(cfg.criterion)
    (warning,) = [r.getMessage() for r in caplog.records if "correct-targets" in r.getMessage()]
    assert "no longer has an effect" in warning


def test_a_ledger_line_of_before_is_read_and_found(tmp_path):
    line = (HERE / "ledger_line.json").read_text(encoding="utf-8")
    entry = json.loads(line)
    path = tmp_path / "ledger.jsonl"
    path.write_text(line, encoding="utf-8")
    # What stood there as train_seconds is the last epoch's, and is read as that.
    figures = dict(entry["figures"])
    figures["last_epoch_seconds"] = figures.pop("train_seconds")
    assert ledger.read(path) == [entry | {"figures": figures, "results": str(tmp_path)}]
    found = ledger.find(path, entry["arm"], entry["setting"], entry["seed"])
    assert found is not None
    assert found["key"] == ledger.setting_key(entry["setting"]) == entry["key"]
