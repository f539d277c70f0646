"""A signal during or just before validation saves at once, and once."""

import signal
from functools import partial
from types import SimpleNamespace

import pytest
from fairseq import checkpoint_utils

from fairseq_outlayers.checkpoints import signals
from fairseq_outlayers.patches.required import stop_signals


@pytest.fixture
def saves(monkeypatch):
    """Updates at which it was saved, whether without ``checkpoint_last.pt``, and the losses."""
    found = []
    monkeypatch.setattr(
        checkpoint_utils,
        "save_checkpoint",
        lambda cfg, trainer, iterator, loss: found.append(
            (trainer.get_num_updates(), cfg.no_last_checkpoints, cfg.save_interval, loss)
        ),
    )
    return found


def trainer(processes=1, **attributes):
    return SimpleNamespace(
        cfg=SimpleNamespace(checkpoint=SimpleNamespace(no_last_checkpoints=True, save_interval=5)),
        data_parallel_world_size=processes,
        get_num_updates=lambda: 7,
        **attributes,
    )


def validate(trained, batches, monkeypatch, signal_at=None):
    """Validate on some batches; a signal arrives before one of them."""
    received = []
    monkeypatch.setattr(signals, "_received", received)
    step = partial(stop_signals._saving_first, lambda self, batch: batch)
    for batch in range(batches):
        if batch == signal_at:
            received.append(int(signal.SIGTERM))
        assert step(trained, batch) == batch


def test_a_signal_during_validation_saves_once(saves, monkeypatch):
    validate(trainer(**{stop_signals.ITERATOR: object()}), 5, monkeypatch, signal_at=2)
    assert saves == [(7, False, 5, None)]


def test_a_signal_before_a_validation_lets_it_end(saves, monkeypatch):
    """The update before has asked fairseq to save at this end of an epoch, and then to leave."""
    recorded, asked = checkpoint_utils.save_checkpoint, []

    def save(cfg, trainer, iterator, loss):
        asked.append(getattr(trainer, stop_signals.LEAVING))
        recorded(cfg, trainer, iterator, loss)

    monkeypatch.setattr(checkpoint_utils, "save_checkpoint", save)
    trained = trainer(**{stop_signals.ITERATOR: object(), stop_signals.LEAVING: True,
                         stop_signals.INTERVAL: 5})  # fmt: skip
    trained.cfg.checkpoint.save_interval = 1
    validate(trained, 3, monkeypatch, signal_at=0)
    assert (asked, saves) == ([False], [(7, False, 5, None)])
    assert getattr(trained, stop_signals.LEAVING)
    assert trained.cfg.checkpoint.save_interval == 1


def test_without_a_signal_validation_saves_nothing(saves, monkeypatch):
    validate(trainer(**{stop_signals.ITERATOR: object()}), 5, monkeypatch)
    assert not saves


@pytest.mark.parametrize(
    "trained",
    [
        pytest.param(trainer(), id="fairseq-validate"),
        pytest.param(trainer(2, **{stop_signals.ITERATOR: object()}), id="two processes"),
    ],
)
def test_what_does_not_train_alone_saves_nothing(trained, saves, monkeypatch):
    validate(trained, 5, monkeypatch, signal_at=0)
    assert not saves


@pytest.mark.parametrize(
    ("given", "acts"),
    [
        ({}, False), ({"end": True}, True), ({"every": 4}, True), ({"every": 3}, False),
        ({"every": 4, "after": 9}, False), ({"most": 8}, True), ({"most": 9}, False),
        ({"hours": 1}, True), ({"hours": 3}, False),
    ],
)  # fmt: skip
def test_after_update_8_and_two_hours_fairseq_saves_or_ends_by_itself(given, acts):
    options = {"end": False, "every": 0, "after": 0, "most": 0, "hours": 0, **given}
    cfg = SimpleNamespace(
        checkpoint=SimpleNamespace(save_interval_updates=options["every"]),
        optimization=SimpleNamespace(stop_time_hours=options["hours"], max_update=options["most"]),
        dataset=SimpleNamespace(validate_after_updates=options["after"]),
    )
    trained = SimpleNamespace(
        cfg=cfg, get_num_updates=lambda: 8, cumulative_training_time=lambda: 7200,
        **{stop_signals.ITERATOR: SimpleNamespace(end_of_epoch=lambda: options["end"])},
    )  # fmt: skip
    assert bool(stop_signals._fairseq_acts_now(trained)) is acts
