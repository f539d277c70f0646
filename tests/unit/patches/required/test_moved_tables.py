"""A table of external vectors that has moved is found by everything that loads a model."""

import errno
import os
import shutil
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.data import Dictionary

from fairseq_outlayers import load
from fairseq_outlayers.__main__ import main
from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.errors import UserError
from tests.conftest import write_external_table
from tests.unit.hub.conftest import save_checkpoint, write_data

PAIR = [("a dog runs", "ein hund")]


def write_table(folder, size=5):
    words = Dictionary.load(str(folder.parent / "data" / "dict.src.txt"))
    rows = np.random.RandomState(1).randn(len(words), size).astype("<f4")
    return Path(write_external_table(folder / "table.npy", words, rows))


@pytest.fixture
def trained(tmp_path):
    """A table, and a model that has been trained with it and moved since, and its scores."""
    for folder in ("first", "data", "model"):
        (tmp_path / folder).mkdir()
    write_data(tmp_path / "data")
    table = write_table(tmp_path / "first")
    mixed = {"source_embedding": "mix_sum", "external_embeddings": str(table)}
    path = save_checkpoint(tmp_path / "data", "luong_lstm", **mixed)
    scores = load(path).score(PAIR)[0].tokens
    return table, shutil.move(path, str(tmp_path / "model" / "model.pt")), scores


def move(table, folder):
    for file in (table, Path(f"{table}.json")):
        shutil.move(file, folder / file.name)


@pytest.mark.parametrize("place", ["data", "model"])
def test_it_is_found_in_the_data_folder_and_beside_the_model(tmp_path, trained, place):
    table, model, scores = trained
    move(table, tmp_path / place)
    assert load(model).score(PAIR)[0].tokens == scores
    assert len(load([model, model]).models) == 2
    loading.load(model)
    models, _, _ = checkpoint_utils.load_model_ensemble_and_task([model])  # as fairseq-generate
    assert len(models) == 1
    main(["export", model, "--to", "fairseq", "--output", str(tmp_path / "exported")])
    (tmp_path / place / table.name).unlink()
    with pytest.raises(UserError, match=r"table.npy: no such file; .* looked for beside the"):
        load(model)


def test_every_member_of_an_ensemble_looks_in_the_folder_given_as_data(tmp_path, trained):
    table, model, _ = trained
    (tmp_path / "given").mkdir()
    write_data(tmp_path / "given")
    move(table, tmp_path / "given")
    assert len(load([model, model], data=tmp_path / "given").models) == 2


def test_a_folder_that_may_not_be_searched_counts_as_gone(tmp_path, trained, monkeypatch):
    table, model, scores = trained
    move(table, tmp_path / "model")
    stat = os.stat

    def refusing(path, *args, **kwargs):
        if str(path).startswith(str(tmp_path / "first")):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", refusing)
    assert load(model).score(PAIR)[0].tokens == scores


def test_options_in_a_namespace_are_changed_too(tmp_path, trained):
    table, model, _ = trained
    move(table, tmp_path / "model")
    state = torch.load(model, weights_only=False)
    state["cfg"]["model"] = Namespace(**state["cfg"]["model"])  # of a model without a dataclass
    torch.save(state, model)
    found = checkpoint_utils.load_checkpoint_to_cpu(model)["cfg"]["model"]
    assert found.external_embeddings == str(tmp_path / "model" / table.name)


def test_another_table_of_its_name_is_refused(tmp_path, trained):
    table, model, _ = trained
    table.unlink()
    write_table(tmp_path / "model", size=6)
    with pytest.raises(UserError, match="is not the table of the training"):
        load(model)


def test_a_path_that_exists_is_not_replaced(tmp_path, trained):
    table, model, _ = trained
    write_table(tmp_path / "model", size=6)
    found = checkpoint_utils.load_checkpoint_to_cpu(model)["cfg"].model
    assert found.external_embeddings == str(table)
