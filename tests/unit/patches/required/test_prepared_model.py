"""What the task, the optimizer and the criterion learn when the trainer is made."""

from functools import partial
from types import SimpleNamespace

import pytest

from fairseq_outlayers.criterions.full_softmax import FullSoftmax
from fairseq_outlayers.patches.required import prepared_model


class Trainer:
    def get_num_updates(self):
        return self.num_updates


@pytest.mark.parametrize("by_name", [False, True])
def test_a_criterion_knows_the_trainers_update_at_any_time(task, by_name):
    construct = partial(prepared_model._with_preparation, lambda *args, **kwargs: None)
    cfg = SimpleNamespace(optimizer=SimpleNamespace())
    criterion, trainer = FullSoftmax(task, 0.0, 0, False), Trainer()
    if by_name:
        construct(trainer, cfg, task, None, criterion=criterion)
    else:
        construct(trainer, cfg, task, None, criterion, None)
    for trainer.num_updates in (0, 7):
        assert criterion.update_number() == trainer.num_updates


def test_criterions_of_fairseq_are_left_alone(task):
    construct = partial(prepared_model._with_preparation, lambda *args, **kwargs: None)
    cfg = SimpleNamespace(optimizer=SimpleNamespace())
    construct(Trainer(), cfg, task, None, object())
    construct(Trainer(), cfg, task, None)
