"""Moments that were loaded are saved again, also before the first update."""

from types import SimpleNamespace

from fairseq_outlayers.partitions.training import PartitionedTraining


def test_loaded_moments_are_those_that_are_saved_until_an_update_uses_them():
    task = PartitionedTraining.__new__(PartitionedTraining)
    task._working_set = SimpleNamespace(moments=lambda: {"of": "the tables"})
    task.set_checkpoint_dict({"moments": {"of": "the checkpoint"}})
    assert task.get_checkpoint_dict() == {
        "PartitionedTraining": {"moments": {"of": "the checkpoint"}}
    }
    task._moments = None  # after the first update
    assert task.get_checkpoint_dict() == {"PartitionedTraining": {"moments": {"of": "the tables"}}}
