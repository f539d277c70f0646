import os
import pickle
from argparse import Namespace

import numpy as np
import pytest
import torch
from fairseq.distributed import utils
from omegaconf import OmegaConf


class RunsOnLoading:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (self.folder,)


@pytest.fixture
def send(monkeypatch):
    """Send an object through fairseq's ``broadcast_object``; returns what the other side has."""
    sent = []

    def broadcast(tensor, src, group):
        if rank == src:
            sent.append(tensor.clone())
        else:
            tensor.copy_(sent.pop(0).view_as(tensor))

    def send(obj):
        nonlocal rank
        for rank in (0, 1):  # noqa: B007
            received = utils.broadcast_object(obj, 0, None, torch.device("cpu"))
            obj = None
        assert sent == []
        return received

    rank = 0
    monkeypatch.setattr(utils, "broadcast", broadcast)
    monkeypatch.setattr(utils, "get_rank", lambda group: rank)
    return send


def test_a_checkpoint_arrives_with_tensors_and_options(send):
    options = {"task": {"data": "x", "lr": [0.1, None]}, "model": Namespace(arch="lstm")}
    tensors = {"table": torch.arange(6.0).view(2, 3), "count": torch.tensor(4)}
    state = {
        "cfg": OmegaConf.create(options, flags={"allow_objects": True}),
        "args": None,
        "model": tensors,
        "optimizer_history": [{"num_updates": 3}],
        "extra_state": {"counts": np.arange(3)},
    }
    received = send(state)
    assert received["cfg"] == options
    torch.testing.assert_close(received["model"], tensors, rtol=0, atol=0)
    assert received["optimizer_history"] == [{"num_updates": 3}]
    np.testing.assert_array_equal(received["extra_state"]["counts"], [0, 1, 2])


def test_code_that_is_sent_does_not_run(send, tmp_path):
    ran = tmp_path / "ran"
    with pytest.raises(pickle.UnpicklingError, match="mkdir"):
        send({"more": RunsOnLoading(str(ran))})
    assert not ran.exists()


def test_a_file_may_hold_no_placeholder_even_after_something_was_sent(send, tmp_path):
    send({"model": torch.ones(2)})
    torch.save(utils._TensorPlaceholder(0), tmp_path / "a.pt")
    with pytest.raises(pickle.UnpicklingError, match="_TensorPlaceholder"):
        torch.load(tmp_path / "a.pt")
