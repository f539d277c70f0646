import os
import pickle
from argparse import Namespace

import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_outlayers.checkpoints import stored_numbers
from fairseq_outlayers.checkpoints.stored import load_stored
from fairseq_outlayers.errors import UserError


class RunsOnLoading:
    """Pickles as a call of ``function`` with ``arguments``, and a state if there is one."""

    def __init__(self, function, *arguments, state=None):
        self.call = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self):
        return self.call


def checkpoint_with(**extra_state):
    """The parts of a fairseq checkpoint that ``load_checkpoint_to_cpu`` looks at."""
    return {
        "args": None,
        "cfg": {"task": {"_name": "translation"}, "model": {"_name": "luong_lstm"}},
        "model": {"weight": torch.ones(2)},
        "optimizer_history": [{"num_updates": 1, "optimizer_name": "", "lr_scheduler_state": {}}],
        "extra_state": {"train_iterator": {"epoch": 1}, **extra_state},
    }


def save(path, state, zipped=True):
    torch.save(state, path, _use_new_zipfile_serialization=zipped)
    return str(path)


def load(path):
    return checkpoint_utils.load_checkpoint_to_cpu(path)["extra_state"]


@pytest.mark.parametrize("number_type", ["int64", "float32", "float64", "bool", "uint8"])
def test_numpy_arrays_and_numbers_as_saved_with_eval_bleu_load(tmp_path, number_type):
    array = np.array([0, 1, 2, 250]).astype(number_type)
    state = load(save(tmp_path / "a.pt", checkpoint_with(array=array, number=array[3])))
    np.testing.assert_array_equal(state["array"], array)
    assert state["array"].dtype == array.dtype
    assert state["number"] == array[3]


def test_options_of_models_without_a_dataclass_load(tmp_path):
    options = Namespace(arch="lstm", lr=[0.1])
    assert load(save(tmp_path / "a.pt", checkpoint_with(options=options)))["options"] == options


@pytest.mark.parametrize("written_by", [b"numpy.core", b"numpy._core"])
def test_arrays_written_under_either_numpy_load(tmp_path, written_by):
    path = tmp_path / "a.pt"
    save(path, checkpoint_with(array=np.arange(3)), zipped=False)
    at_hand = np.arange(3).__reduce__()[0].__module__.rpartition(".")[0].encode()
    path.write_bytes(
        path.read_bytes().replace(at_hand + b".multiarray", written_by + b".multiarray")
    )
    np.testing.assert_array_equal(load(str(path))["array"], [0, 1, 2])


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize(
    ("function", "name"),
    [(os.mkdir, "mkdir"), (exec, "exec"), (eval, "eval")],
)
def test_code_in_a_checkpoint_is_refused_by_name_and_does_not_run(tmp_path, function, name, zipped):
    ran = tmp_path / "ran"
    argument = str(ran) if function is os.mkdir else f"__import__('os').mkdir({str(ran)!r})"
    state = checkpoint_with(code=RunsOnLoading(function, argument))
    path = save(tmp_path / "evil.pt", state, zipped)
    with pytest.raises(UserError, match=rf"evil\.pt was not loaded.*contains \S*{name},"):
        load(path)
    assert not ran.exists()


def test_code_inside_a_numpy_array_of_objects_does_not_run(tmp_path):
    ran = tmp_path / "ran"
    array = np.array([RunsOnLoading(os.mkdir, str(ran))], dtype=object)
    with pytest.raises(UserError, match=r"evil\.pt was not loaded"):
        load(save(tmp_path / "evil.pt", checkpoint_with(array=array)))
    assert not ran.exists()


def test_numpy_arrays_of_objects_are_refused_even_when_empty_of_code(tmp_path):
    array = np.array(["a word"], dtype=object)
    with pytest.raises(UserError, match=r"numpy\.dtypes\.ObjectDType"):
        load(save(tmp_path / "objects.pt", checkpoint_with(array=array)))


def test_numpy_arrays_of_objects_load_if_torch_is_told_that_they_are_safe(tmp_path):
    array = np.array(["a word", 2], dtype=object)
    path = save(tmp_path / "objects.pt", checkpoint_with(array=array))
    with torch.serialization.safe_globals([type(array.dtype)]):
        np.testing.assert_array_equal(load(path)["array"], array)


POINTER = b"A" * 8  # an address
INT64 = ("i8", False, True)


def dtype_with(*changed, name="i8"):
    """A dtype in a checkpoint: subarray, names, fields, as numpy pickles it but for these."""
    subarray, names, fields = changed or (None, None, None)
    state = (3, "<", subarray, names, fields, -1, -1, 0)
    return RunsOnLoading(np.dtype, name, False, True, state=state)


def array_with(*state, kind=np.ndarray):
    return RunsOnLoading(np.zeros(1).__reduce__()[0], kind, (0,), b"b", state=state)


OBJECTS = RunsOnLoading(np.dtype, "O8", False, True)
FORGED = {
    "a call of the class": (RunsOnLoading(np.ndarray, (1,), "O", POINTER), "call of numpy.ndarray"),
    "a call with a dtype": (
        RunsOnLoading(np.ndarray, (99,), dtype_with(), POINTER),
        "call of numpy",
    ),
    "objects as a subarray": (
        array_with(1, (1,), dtype_with((OBJECTS, (1,)), None, None), False, POINTER),
        "numpy.dtypes.ObjectDType",
    ),
    "numbers as a subarray": (
        array_with(1, (1,), dtype_with((dtype_with(), (9,)), None, None), False, POINTER),
        "a forged numpy.dtype",
    ),
    "a field outside the number": (
        array_with(1, (1,), dtype_with(None, ("a",), {"a": (dtype_with(), 64)}), False, POINTER),
        "a forged numpy.dtype",
    ),
    "fields by name": (
        array_with(1, (1,), dtype_with(name="i8,O"), False, POINTER),
        "numpy.dtypes.Void",
    ),
    "no name of a dtype": (
        array_with(1, (1,), dtype_with(name="?!"), False, POINTER),
        "forged numpy.dtype",
    ),
    "too few bytes": (array_with(1, (2,), dtype_with(), False, POINTER), "a forged numpy.ndarray"),
    "a negative shape": (
        array_with(1, (-1, -1), dtype_with(), False, POINTER),
        "a forged numpy.ndarray",
    ),
    "a shape of arrays": (
        array_with(1, (np.int64(1),), dtype_with(), False, POINTER),
        "forged numpy.nd",
    ),
    "a list in place of bytes": (
        array_with(1, (1,), dtype_with(), False, [1]),
        "a forged numpy.ndarray",
    ),
    "another class": (
        array_with(1, (1,), dtype_with(), False, POINTER, kind=np.dtype),
        "forged numpy.nd",
    ),
    "a short number": (
        RunsOnLoading(np.int64(1).__reduce__()[0], dtype_with(), b"A"),
        "a forged numpy number",
    ),
}


@pytest.mark.parametrize("form", FORGED)
def test_what_numpy_does_not_pickle_is_refused_before_numpy_makes_it(tmp_path, form):
    forged, named = FORGED[form]
    path = save(tmp_path / "evil.pt", checkpoint_with(epoch=forged))
    # Only its types are looked at: an array that loads must not be printed or compared.
    with pytest.raises(UserError, match=rf"evil\.pt was not loaded.*contains [^,]*{named}"):
        type(load(path)["epoch"])


def test_the_data_of_an_array_that_a_tensor_shares_is_not_replaced():
    loaded = stored_numbers.reconstruct(stored_numbers.StoredArray, (0,), b"b")
    state = (1, (1,), stored_numbers.StoredType(*INT64), False, POINTER)
    loaded.__setstate__(state)
    tensor = torch.from_numpy(loaded)
    with pytest.raises(pickle.UnpicklingError, match="forged"):
        loaded.__setstate__(state)
    assert tensor.item() == int.from_bytes(POINTER, "little")


@pytest.mark.parametrize("values", [[[1, 2], [3, 4]], 7])
def test_loaded_arrays_compute_and_are_saved_as_numpys_own(tmp_path, values):
    saved = np.asfortranarray(np.array(values, dtype=">i4"))
    loaded = load(save(tmp_path / "a.pt", checkpoint_with(array=saved)))["array"]
    np.testing.assert_array_equal(loaded, saved)
    assert type(loaded + loaded) is type(saved + saved)
    assert type(loaded.sum()) is type(saved.sum())
    assert np.ones(loaded.shape).sum(where=loaded > 0) == (saved > 0).sum()
    mask = load(save(tmp_path / "m.pt", checkpoint_with(mask=saved > 0)))["mask"]
    assert np.ones(mask.shape).sum(where=mask) == (saved > 0).sum()
    before = np.array(loaded)
    loaded += 1
    np.testing.assert_array_equal(loaded, before + 1)
    again = load(save(tmp_path / "b.pt", checkpoint_with(array=before, other=loaded)))
    np.testing.assert_array_equal(again["other"], before + 1)
    assert type(pickle.loads(pickle.dumps(again["other"]))) is np.ndarray


def numpys_own():
    core = getattr(np, "_core", None) or np.core  # numpy 2, numpy 1
    return [core.multiarray._reconstruct, np.ndarray, np.dtype, type(np.dtype("f8"))]


def test_other_files_are_loaded_by_what_the_user_allows(tmp_path):
    array, path = np.arange(3.0), tmp_path / "other.pt"
    torch.save(array, path)
    before = set(torch.serialization.get_safe_globals())
    load(save(tmp_path / "a.pt", checkpoint_with(array=array)))
    assert set(torch.serialization.get_safe_globals()) == before
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path, weights_only=True)
    with torch.serialization.safe_globals(numpys_own()):
        assert type(torch.load(path, weights_only=True)) is np.ndarray


@pytest.mark.parametrize("name", ["a call of the class", "a call with a dtype"])
def test_arrays_of_addresses_are_refused_also_where_the_user_allows_numpys_own(tmp_path, name):
    forged, message = FORGED[name]
    path = save(tmp_path / "evil.pt", checkpoint_with(array=forged))
    with torch.serialization.safe_globals(numpys_own()):
        for _ in range(5):
            with pytest.raises(UserError, match=message):
                load(path)


@pytest.mark.parametrize("dtype", ["M8[ns]", "i4,f4"])
def test_dates_and_records_are_refused_where_their_types_are_allowed(tmp_path, dtype):
    array = np.zeros(2, dtype)
    path = save(tmp_path / "a.pt", checkpoint_with(array=array))
    allowed = torch.serialization.safe_globals([type(array.dtype)])
    with allowed, pytest.raises(UserError, match=r"a\.pt was not loaded"):
        load(path)


def test_code_of_a_moving_average_does_not_run(tmp_path):
    ran = tmp_path / "ran"
    path = save(tmp_path / "evil.pt", checkpoint_with(code=RunsOnLoading(os.mkdir, str(ran))))
    with pytest.raises(UserError, match="mkdir"):
        checkpoint_utils.load_ema_from_checkpoint(path)
    assert not ran.exists()


def stored(path):
    return load_stored(path)["extra_state"]


@pytest.mark.parametrize("load", [load, stored])
def test_torchs_own_switch_keeps_its_meaning_and_the_file_is_named(
    tmp_path, monkeypatch, caplog, load
):
    path = save(tmp_path / "a.pt", checkpoint_with(function=os.getcwd))
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    assert load(path)["function"] is os.getcwd
    assert f"code in {path} runs" in caplog.text


def test_whoever_asks_for_full_loading_gets_it(tmp_path):
    path = save(tmp_path / "a.pt", {"function": os.getcwd})
    assert torch.load(path, weights_only=False)["function"] is os.getcwd


@pytest.mark.parametrize("kept", [0, 1, 100, -1])
def test_a_truncated_checkpoint_is_named_as_damaged(tmp_path, kept):
    path = tmp_path / "checkpoint_last.pt"
    save(path, checkpoint_with())
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(UserError, match=r"checkpoint_last\.pt is damaged"):
        load(str(path))


@pytest.mark.parametrize("text", ["una pfeijätz .\n", "to be\n", "a\n", "0 1\n", "{}", "(1"])
def test_a_text_given_as_a_checkpoint_is_said_to_be_none(tmp_path, text):
    path = tmp_path / "train.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"train\.txt is damaged, or not a checkpoint"):
        load(str(path))
