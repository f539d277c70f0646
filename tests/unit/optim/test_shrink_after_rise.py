"""The learning rate halves after every epoch from the first rise of the validation loss on."""

import math
from types import SimpleNamespace

import pytest
import torch
from fairseq.optim import FairseqOptimizer

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.optim.shrink_after_rise import ShrinkAfterRise


class Optimizer(FairseqOptimizer):
    """Only as much of one as holds a learning rate."""

    def __init__(self):
        self._optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=9.0)


def schedule(
    shrink=0.5,
    lr=(1.0,),
    maximize=False,
    disable_validation=False,
    force_anneal=None,
    validate_interval=1,
    validate_interval_updates=0,
):
    config = SimpleNamespace(
        validate_interval=validate_interval,
        validate_interval_updates=validate_interval_updates,
        lr=list(lr),
        force_anneal=force_anneal,
        lr_shrink=shrink,
        maximize_best_checkpoint_metric=maximize,
        disable_validation=disable_validation,
    )
    return ShrinkAfterRise(config, Optimizer())


def rates(scheduler, losses, first_epoch=1):
    """The learning rate after each epoch, as the optimizer has it."""
    found = []
    for epoch, loss in enumerate(losses, start=first_epoch):
        scheduler.step(epoch, loss)
        found.append(scheduler.optimizer.get_lr())
    return found


def test_the_rate_halves_after_every_epoch_from_the_first_rise_on():
    # It rises at the third epoch; the falls after it change nothing.
    assert rates(schedule(), [5, 4, 4.5, 3, 2, 2]) == [1, 1, 0.5, 0.25, 0.125, 0.0625]


def test_from_a_given_epoch_on_the_rate_halves_without_a_rise():
    """In epoch 4 it is halved for the first time, as with fairseq's fixed schedule."""
    assert rates(schedule(force_anneal=4), [5, 4, 3, 2, 1]) == [1, 1, 0.5, 0.25, 0.125]
    assert rates(schedule(force_anneal=4), [5, 6, 3, 2]) == [1, 0.5, 0.25, 0.125]


def test_an_epoch_that_has_none_before_it_is_refused():
    with pytest.raises(UserError, match="--force-anneal 1: must be at least 2"):
        schedule(force_anneal=1)


def test_an_equal_loss_is_no_rise():
    assert rates(schedule(), [5, 5, 5]) == [1, 1, 1]


def test_a_rise_is_measured_from_the_epoch_before():
    assert rates(schedule(shrink=0.1), [5, 3, 4]) == pytest.approx([1, 1, 0.1])


def test_a_metric_to_maximize_gets_worse_by_falling():
    assert rates(schedule(maximize=True), [10, 20, 19, 30]) == [1, 1, 0.5, 0.25]


def test_a_loss_that_is_no_number_is_not_compared_with():
    assert rates(schedule(), [3, math.nan, 4, 5]) == [1, 1, 0.5, 0.25]


def test_epochs_without_validation_change_nothing():
    assert rates(schedule(), [5, None, 6, None, 4]) == [1, 1, 0.5, 0.5, 0.25]


@pytest.mark.parametrize("saved_after", range(6))
@pytest.mark.parametrize("force_anneal", [None, 2, 5])
def test_a_resumed_schedule_goes_on_as_if_never_stopped(saved_after, force_anneal):
    losses = [5, 4, 4.5, 3, 2, 2] if force_anneal != 5 else [5, 4, 3, 2, 1, 1]
    first, second = schedule(force_anneal=force_anneal), schedule(force_anneal=force_anneal)
    before = rates(first, losses[:saved_after])
    second.load_state_dict(first.state_dict())
    second.optimizer.set_lr(first.optimizer.get_lr())  # comes with the optimizer's state
    after = rates(second, losses[saved_after:], saved_after + 1)
    assert before + after == rates(schedule(force_anneal=force_anneal), losses)


@pytest.mark.parametrize(("reset", "expected"), [(True, 1.0), (False, 9.0)])
def test_a_schedule_that_is_reset_begins_at_its_own_rate(reset, expected):
    """``--reset-lr-scheduler --lr 1`` over the optimizer of a run with 9."""
    resumed = schedule()
    resumed.step_update(0)
    if not reset:
        resumed.load_state_dict(schedule().state_dict())
    resumed.optimizer.set_lr(9.0)  # comes with the optimizer's state
    assert resumed.step_update(70) == expected
    resumed.step(1, 5.0)
    resumed.step(2, 6.0)
    assert resumed.step_update(71) == expected / 2


def test_without_validation_it_is_refused():
    with pytest.raises(UserError, match="--disable-validation leaves it none"):
        schedule(disable_validation=True)


def test_it_is_refused_where_all_validations_are_within_epochs():
    with pytest.raises(UserError, match=r"--validate-interval 100: .* at the end of an epoch"):
        schedule(validate_interval=100, validate_interval_updates=50)
    schedule(validate_interval=100)
    schedule(validate_interval_updates=50)


def test_several_learning_rates_are_refused():
    with pytest.raises(UserError, match=r"--lr 1.0,0.5: .* give one"):
        schedule(lr=[1.0, 0.5])


def test_a_shrink_factor_below_zero_is_refused():
    with pytest.raises(UserError, match="--lr-shrink -1"):
        schedule(shrink=-1)
