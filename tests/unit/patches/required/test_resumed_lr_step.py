from types import SimpleNamespace

import pytest
from fairseq import checkpoint_utils

RESUMED = {"train_iterator": {"epoch": 4, "iterations_in_epoch": 0}, "val_loss": 5.5}


class Iterator:
    """The little that load_checkpoint sees of an EpochBatchIterator."""

    epoch, iterations_in_epoch = 1, 0
    next_epoch_idx = 1

    def load_state_dict(self, state):
        self.epoch, self.iterations_in_epoch = state["epoch"], state["iterations_in_epoch"]


class Trainer:
    """Holds a checkpoint and writes down the learning-rate steps."""

    checkpoint_suffix, task = "", None
    cfg = SimpleNamespace(
        optimization=SimpleNamespace(max_update=0, max_epoch=0, stop_time_hours=0)
    )

    def get_num_updates(self):
        return 0

    def __init__(self, extra_state):
        self.extra_state, self.steps = extra_state, []

    def load_checkpoint(self, *args, **kwargs):
        return self.extra_state

    def get_train_iterator(self, epoch, **kwargs):
        return Iterator()

    def lr_step(self, epoch, val_loss=None):
        self.steps.append((epoch, val_loss))


def steps_with_a_loss(extra_state, **options):
    names = ("reset_optimizer", "reset_lr_scheduler", "reset_meters", "reset_dataloader")
    config = {
        **dict.fromkeys(names, False),
        "optimizer_overrides": "{}",
        "finetune_from_model": None,
        "restore_file": "checkpoint_last.pt",
        "save_dir": "/nowhere",
        "patience": -1,
        **options,
    }
    trainer = Trainer(extra_state)
    checkpoint_utils.load_checkpoint(SimpleNamespace(**config), trainer)
    return [step for step in trainer.steps if step[1] is not None]


def test_the_epoch_that_was_saved_shows_its_loss_once_and_by_its_own_number():
    assert steps_with_a_loss(RESUMED) == [(3, 5.5)]


def test_a_fresh_run_takes_no_step():
    assert steps_with_a_loss(None) == []


@pytest.mark.parametrize("reset", ["reset_lr_scheduler", "reset_optimizer", "reset_dataloader"])
def test_a_reset_run_takes_no_step(reset):
    assert steps_with_a_loss(RESUMED, **{reset: True, "reset_meters": True}) == []


def test_a_checkpoint_within_an_epoch_takes_no_step():
    within = {**RESUMED, "train_iterator": {"epoch": 3, "iterations_in_epoch": 10}}
    assert steps_with_a_loss(within) == []


def test_an_epoch_without_validation_takes_no_step():
    assert steps_with_a_loss({**RESUMED, "val_loss": None}) == []
