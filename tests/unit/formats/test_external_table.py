"""Tables of external vectors: what is read, and what is refused."""

import copy
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.tables.external_table import ExternalTable
from tests.conftest import make_dictionary, make_model, write_external_table


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_vectors_are_the_rows_of_the_file(tmp_path, dtype):
    dictionary = make_dictionary(9)
    rows = np.random.RandomState(0).randn(13, 3).astype(dtype)
    table = ExternalTable(write_external_table(tmp_path / "t.npy", dictionary, rows), dictionary)
    ids = torch.tensor([[4, 12], [0, 4]])
    assert torch.equal(table.vectors(ids), torch.from_numpy(rows[ids.numpy()]))
    assert table.dimensions == 3
    assert copy.deepcopy(table) is table


def resident_kilobytes(path):
    """What of a mapped file is in this process's memory."""
    blocks = Path("/proc/self/smaps").read_text().split(str(path))[1:]
    return sum(int(re.search(r"Rss: +(\d+) kB", block)[1]) for block in blocks)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux's /proc")
def test_memory_is_that_of_the_rows_asked_for_not_of_the_table(tmp_path):
    dictionary = make_dictionary(99_996)
    rows = np.zeros((100_000, 128), np.float32)  # 51 MB
    path = write_external_table(tmp_path / "large.npy", dictionary, rows)
    table = ExternalTable(path, dictionary)
    for rows_read in (100, 50_000):
        found = table.vectors(torch.arange(rows_read))
        assert found.shape == (rows_read, 128)
        # Without giving pages back, 50,000 rows leave 25 MB mapped.
        assert resident_kilobytes(path) < 1_000


def damage(path, position):
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_a_damaged_table_is_refused(tmp_path, task, external_table):
    path, dictionary = Path(external_table), task.source_dictionary
    whole = path.read_bytes()
    damage(path, 130)
    with pytest.raises(UserError, match=r"table.npy: differs after byte 128 from what was written"):
        ExternalTable(external_table, dictionary)
    path.write_bytes(whole)
    damage(path, 400)  # between the blocks that are read at every start
    ExternalTable(external_table, dictionary)
    with pytest.raises(UserError, match="differs somewhere"):
        ExternalTable(external_table, dictionary, checks_all=True)
    path.write_bytes(whole[:-7])
    with pytest.raises(UserError, match=r"461 bytes, but 468 were written"):
        ExternalTable(external_table, dictionary)


def test_a_table_of_another_dictionary_is_refused(task, external_table):
    other = make_dictionary(13)
    other.symbols[7], other.symbols[8] = other.symbols[8], other.symbols[7]
    with pytest.raises(UserError, match=r"another dictionary .both have 17 symbols"):
        ExternalTable(external_table, other)
    with pytest.raises(UserError, match=r"17 rows, 24 symbols.*--padding-factor 1"):
        ExternalTable(external_table, make_dictionary(20))


@pytest.mark.parametrize("missing", ["table.npy", "table.npy.json"])
def test_a_missing_file_is_named_with_a_way_to_give_another(task, external_table, missing):
    (Path(external_table).parent / missing).unlink()
    with pytest.raises(UserError, match=f"{missing}: no such file.*--model-overrides"):
        ExternalTable(external_table, task.source_dictionary)


def test_a_file_that_is_no_table_is_refused(task, external_table):
    sidecar = Path(f"{external_table}.json")
    facts = json.loads(sidecar.read_text())
    sidecar.write_text("{}")
    with pytest.raises(UserError, match=r"table.npy.json: damaged .'rows'"):
        ExternalTable(external_table, task.source_dictionary)
    content = b"x" * facts["bytes"]
    facts["blocks"] = {"0": zlib.crc32(content[: facts["block_bytes"]])}
    sidecar.write_text(json.dumps(facts))
    Path(external_table).write_bytes(content)
    with pytest.raises(UserError, match=r"table.npy: not a NumPy file"):
        ExternalTable(external_table, task.source_dictionary)


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("rows", "17"), ("rows", -1), ("dimensions", None), ("bytes", 1.5), ("crc32", True),
        ("block_bytes", 0), ("blocks", {}), ("blocks", []), ("blocks", {"x": 1}),
        ("blocks", {"0": "1"}), ("blocks", {"-1": 1}), ("dictionary", 7),
        ("dictionary", {"symbols": "17", "crc32": 1}),
        ("block_bytes", 10**18), ("block_bytes", 10**30), ("blocks", {"468": 1}),
        ("blocks", {str(10**30): 1}), ("blocks", {"9" * 5000: 1}),
    ],
)  # fmt: skip
def test_a_sidecar_with_a_fact_of_another_type_is_refused(task, external_table, fact, value):
    sidecar = Path(f"{external_table}.json")
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), fact: value}))
    with pytest.raises(UserError, match=r"table.npy.json: damaged"):
        ExternalTable(external_table, task.source_dictionary)


@pytest.mark.parametrize("rows", [16, 18])
def test_a_table_of_another_number_of_rows_than_its_dictionary_is_refused(tmp_path, task, rows):
    vectors = np.ones((rows, 5), np.float32)
    path = write_external_table(tmp_path / "other.npy", task.source_dictionary, vectors)
    message = rf"other.npy.json: damaged .{rows} rows for a dictionary of 17 symbols"
    with pytest.raises(UserError, match=message):
        ExternalTable(path, task.source_dictionary)


@pytest.mark.parametrize("dtype", ["int32", "complex64", "bool", "S3", ">f4", "longdouble"])
def test_a_table_of_anything_but_floats_that_pytorch_has_is_refused(tmp_path, task, dtype):
    rows = np.ones((len(task.source_dictionary), 5), dtype)
    path = write_external_table(tmp_path / "other.npy", task.source_dictionary, rows)
    with pytest.raises(UserError, match=r"other.npy: not a NumPy file of vectors .contains "):
        ExternalTable(path, task.source_dictionary)


def test_a_checkpoint_refuses_another_table(tmp_path, task, external_table):
    options = {"source_embedding": "mix_sum"}
    state = make_model("nematus_gru", task, external_embeddings=external_table, **options)
    state = state.state_dict()
    rows = np.load(external_table)
    rows[5] += 1
    other = write_external_table(tmp_path / "other.npy", task.source_dictionary, rows)
    model = make_model("nematus_gru", task, external_embeddings=other, **options)
    with pytest.raises(UserError, match=r"other.npy: is not the table.*17 rows with CRC-32"):
        model.load_state_dict(state)
    # The state of a moving average has no integers in it.
    model.load_state_dict({k: v for k, v in state.items() if "table_version" not in k})


def test_more_vectors_than_are_read_at_once_are_rows_of_the_file(tmp_path):
    dictionary = make_dictionary(596)
    rows = np.random.RandomState(0).randn(600, 3).astype(np.float32)
    table = ExternalTable(write_external_table(tmp_path / "t.npy", dictionary, rows), dictionary)
    ids = torch.randint(600, (7, 100))
    assert torch.equal(table.vectors(ids), torch.from_numpy(rows)[ids])


def test_a_vector_is_the_unknown_one_only_in_all_its_numbers(tmp_path):
    dictionary = make_dictionary(3)
    rows = np.zeros((7, 3), np.float32)
    rows[4, 2] = rows[5, 0] = 1
    table = ExternalTable(write_external_table(tmp_path / "t.npy", dictionary, rows), dictionary)
    vectors = table.vectors(torch.tensor([[3, 4], [5, 6]]))
    assert table.is_unknown(vectors).tolist() == [[True, False], [False, True]]
