"""Moments that were loaded are saved again, also before the first update."""

from types import SimpleNamespace

import torch

from fairseq_outlayers.partitions.training import PartitionedTraining
from tests.devices import device_of_kind


def test_loaded_moments_are_those_that_are_saved_until_an_update_uses_them():
    task = PartitionedTraining.__new__(PartitionedTraining)
    task._working_set = SimpleNamespace(moments=lambda: {"of": "the tables"})
    task.set_checkpoint_dict({"moments": {"of": "the checkpoint"}})
    assert task.get_checkpoint_dict() == {
        "PartitionedTraining": {"moments": {"of": "the checkpoint"}}
    }
    task._moments = None  # after the first update
    assert task.get_checkpoint_dict() == {"PartitionedTraining": {"moments": {"of": "the tables"}}}


def test_saved_moments_are_on_the_cpu():
    with device_of_kind("pretended") as device:
        moments = {"table": {"exp_avg": torch.ones(3).to(device.device)}}
        task = PartitionedTraining.__new__(PartitionedTraining)
        task._working_set = SimpleNamespace(moments=lambda: moments)
        (saved,) = task.get_checkpoint_dict().values()
        assert saved["moments"]["table"]["exp_avg"].device.type == "cpu"
