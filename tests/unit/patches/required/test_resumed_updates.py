"""When a count of updates continues; tests/system/test_resuming.py trains."""

from types import SimpleNamespace

import pytest

from fairseq_outlayers.patches.required import resumed_updates

HISTORY = [{"num_updates": 10, "lr_scheduler_state": {"best": 2.5}}]


class Trainer:
    """The little of a trainer that loading touches; writes down what is restored."""

    def __init__(
        self, reset_dataloader=False, history=HISTORY, updates=0, finetune_from_model=None
    ):
        checkpoint = SimpleNamespace(
            reset_dataloader=reset_dataloader, finetune_from_model=finetune_from_model
        )
        self.cfg = SimpleNamespace(checkpoint=checkpoint)
        self._optim_history, self.updates, self.restored = history, updates, []
        self.lr_scheduler = SimpleNamespace(load_state_dict=self.restored.append)
        self.optimizer = SimpleNamespace(set_lr=self.restored.append)

    def get_num_updates(self):
        return self.updates

    def set_num_updates(self, updates):
        self.updates = updates


def after_loading(trainer, *resets, extra_state=None):
    extra_state = {"learning_rate": 0.5} if extra_state is None else extra_state
    resumed_updates._restore_updates(lambda *args: extra_state, trainer, "x.pt", *resets)
    return trainer.updates, trainer.restored


def test_updates_schedule_and_rate_continue():
    assert after_loading(Trainer()) == (10, [{"best": 2.5}, 0.5])


def test_a_schedule_that_is_reset_does_not_continue():
    assert after_loading(Trainer(), False, True) == (10, [])


def test_an_older_checkpoint_has_no_rate():
    assert after_loading(Trainer(), extra_state={"best": 1.0}) == (10, [{"best": 2.5}])


@pytest.mark.parametrize(
    ("trainer", "resets"),
    [
        (Trainer(), [True]),
        (Trainer(finetune_from_model="x.pt"), [True]),
        (Trainer(reset_dataloader=True), []),
        (Trainer(history=[]), []),
    ],
)
def test_a_run_that_starts_anew_counts_anew(trainer, resets):
    assert after_loading(trainer, *resets) == (0, [])


def test_what_fairseq_has_restored_is_left_alone():
    assert after_loading(Trainer(updates=10)) == (10, [])
