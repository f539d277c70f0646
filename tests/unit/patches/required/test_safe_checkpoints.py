import os
import pickle
from argparse import Namespace

import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_outlayers.checkpoints.stored import load_stored
from fairseq_outlayers.errors import UserError


class RunsOnLoading:
    """Pickles as a call of ``function`` with ``argument``."""

    def __init__(self, function, argument):
        self.call = (function, (argument,))

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
