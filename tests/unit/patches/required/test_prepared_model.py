"""What the task, the optimizer and the criterion learn when the trainer is made."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch

from fairseq_outlayers.criterions.full_softmax import FullSoftmax
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.required import prepared_model
from tests.conftest import make_model


class Trainer:
    def get_num_updates(self):
        return self.num_updates


@pytest.mark.parametrize("by_name", [False, True])
def test_a_criterion_knows_the_trainers_update_at_any_time(task, by_name):
    construct = partial(prepared_model._with_preparation, lambda *args, **kwargs: None)
    cfg = SimpleNamespace(optimizer=SimpleNamespace())
    criterion, trainer = FullSoftmax(task, 0.0, 0, False), Trainer()
    model = make_model("luong_lstm", task)
    if by_name:
        construct(trainer, cfg, task, model, criterion=criterion)
    else:
        construct(trainer, cfg, task, model, criterion, None)
    for trainer.num_updates in (0, 7):
        assert criterion.update_number() == trainer.num_updates


def test_a_model_that_the_criterion_cannot_train_is_refused_before_the_first_update(task):
    cfg = SimpleNamespace(optimizer=SimpleNamespace())
    made = []
    construct = partial(prepared_model._with_preparation, lambda *args, **kwargs: made.append(args))
    with pytest.raises(UserError, match="full_softmax needs a model that takes --output-layer"):
        construct(Trainer(), cfg, task, torch.nn.Module(), FullSoftmax(task, 0.0, 0, False))
    assert not made


def test_criterions_of_fairseq_are_left_alone(task):
    construct = partial(prepared_model._with_preparation, lambda *args, **kwargs: None)
    cfg = SimpleNamespace(optimizer=SimpleNamespace())
    construct(Trainer(), cfg, task, None, object())
    construct(Trainer(), cfg, task, None)
