"""When schedules are compared; tests/system/test_resuming.py trains."""

from argparse import Namespace

import pytest
from omegaconf import OmegaConf

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.conveniences import resumed_schedule

LOADED = {"train_iterator": {"epoch": 2}}


class Trainer:
    """The little of a trainer that loading touches; loads ``state`` as fairseq does."""

    def __init__(self, schedule, updates=3, error=None):
        self.cfg = OmegaConf.create({"lr_scheduler": {"_name": schedule}})
        self.updates, self.error, self._optim_history = updates, error, None

    def get_num_updates(self):
        return self.updates

    def load(self, state, filename, *resets):
        self._optim_history = []
        state = resumed_schedule._record_schedule(lambda path: state, filename)
        self._optim_history = state["optimizer_history"]
        if self.error is not None:
            raise self.error
        return LOADED


def load(trainer, options, *resets):
    state = {"cfg": options, "optimizer_history": [{"num_updates": 3}]}
    found = resumed_schedule._compare_schedule(
        lambda self, *arguments: self.load(state, *arguments), trainer, "x.pt", *resets
    )
    assert trainer._optim_history == [{"num_updates": 3}]  # as fairseq saves it again
    return found


def options_of(schedule):
    options = OmegaConf.create({"lr_scheduler": schedule})
    OmegaConf.set_struct(options, True)
    return options


@pytest.mark.parametrize("error", [None, KeyError("best"), TypeError("'<' not supported")])
@pytest.mark.parametrize(
    "options",
    [options_of({"_name": "fixed"}), {"lr_scheduler": Namespace(_name="fixed")}],
    ids=["a dataclass", "of old models"],
)
def test_another_schedule_is_refused_whether_or_not_it_takes_the_state(options, error):
    with pytest.raises(UserError) as raised:
        load(Trainer("inverse_sqrt", error=error), options)
    assert str(raised.value) == (
        "x.pt was trained with another --lr-scheduler (fixed; now inverse_sqrt): use that of the "
        "training, or reset the schedule by --reset-lr-scheduler"
    )
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    "options",
    [options_of({"_name": "fixed"}), options_of(None), OmegaConf.create({}), {}, None],
    ids=["same", "none", "without", "empty", "no options"],
)
def test_the_same_or_an_unknown_schedule_is_loaded(options):
    if OmegaConf.is_config(options):
        OmegaConf.set_struct(options, True)
    assert load(Trainer("fixed"), options) is LOADED


@pytest.mark.parametrize("resets", [(True,), (False, True)])
def test_a_schedule_that_is_reset_is_not_compared(resets):
    assert load(Trainer("inverse_sqrt"), options_of({"_name": "fixed"}), *resets) is LOADED


def test_weights_alone_are_loaded_for_any_schedule():
    """Without the optimizer's state and with --reset-dataloader, say."""
    trainer = Trainer("inverse_sqrt", updates=0)
    assert load(trainer, options_of({"_name": "fixed"})) is LOADED


def test_what_fails_under_the_same_schedule_is_left_alone():
    with pytest.raises(KeyError, match="best"):
        load(Trainer("fixed", error=KeyError("best")), options_of({"_name": "fixed"}))


def test_a_checkpoint_that_nothing_resumes_from_is_not_changed():
    state = {"cfg": options_of({"_name": "fixed"}), "optimizer_history": [{"num_updates": 3}]}
    resumed_schedule._record_schedule(lambda path: state, "x.pt")
    assert state["optimizer_history"] == [{"num_updates": 3}]
