"""The loss scale of --amp: its options act, and a resumed run continues with it."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.optim.amp_optimizer import AMPOptimizer

from fairseq_outlayers.patches.required import amp_scale

COMMON = {
    "fp16_init_scale": 128, "amp_init_scale": 128, "amp_scale_window": None,
    "min_loss_scale": 1e-4, "amp": True,
}  # fmt: skip


def optimizer(monkeypatch, **options):
    """An optimizer under --amp, whose scaler works without a GPU."""
    scaler = torch.amp.GradScaler
    monkeypatch.setattr(torch.amp, "GradScaler", lambda _, **options: scaler("cpu", **options))
    common = SimpleNamespace(**{**COMMON, **options})
    return AMPOptimizer(SimpleNamespace(optimizer=None, common=common), [], None)


@pytest.mark.parametrize(
    ("options", "scale", "window"),
    [
        ({}, 128, 2000),
        ({"amp_init_scale": 512}, 512, 2000),
        ({"amp_scale_window": 500}, 128, 500),
        ({"amp_init_scale": 512, "amp_scale_window": 500}, 512, 500),
        ({"fp16_init_scale": 64}, 64, 2000),  # what stock fairseq reads
    ],
)
def test_the_options_of_the_scale_act(options, scale, window, monkeypatch):
    scaler = optimizer(monkeypatch, **options).scaler
    assert (scaler.get_scale(), scaler.get_growth_interval()) == (scale, window)


class Trainer:
    """The little of a trainer that saves and loads."""

    def __init__(self, optimizer, amp=True):
        self.optimizer = optimizer
        self.cfg = SimpleNamespace(common=SimpleNamespace(amp=amp))


def saved_by(trainer):
    written = []
    stock = lambda self, filename, extra_state: written.append(extra_state)  # noqa: E731
    amp_scale._with_scale(stock, trainer, "x.pt", {"epoch": 3})
    return written[0]


def load(trainer, extra_state, *resets):
    return amp_scale._with_its_scale(lambda *arguments: extra_state, trainer, "x.pt", *resets)


def grown(monkeypatch):
    found = optimizer(monkeypatch)
    state = found.scaler.state_dict()
    found.scaler.load_state_dict({**state, "scale": 65536.0, "_growth_tracker": 7})
    return found


def test_a_resumed_run_continues_with_the_scale(monkeypatch):
    extra_state = saved_by(Trainer(grown(monkeypatch)))
    assert extra_state["epoch"] == 3
    resumed = Trainer(optimizer(monkeypatch))
    assert load(resumed, extra_state) is extra_state
    assert resumed.optimizer.scaler.state_dict() == grown(monkeypatch).scaler.state_dict()


@pytest.mark.parametrize("extra_state", [None, {"epoch": 3}, {amp_scale.SCALER: {}}])
def test_a_checkpoint_without_a_scale_leaves_the_initial_one(extra_state, monkeypatch):
    """There is none, it is an older one, or it was trained on a CPU, where nothing is scaled."""
    resumed = Trainer(optimizer(monkeypatch))
    load(resumed, extra_state)
    assert resumed.optimizer.scaler.get_scale() == 128


def test_an_optimizer_that_starts_anew_starts_with_the_initial_scale(monkeypatch):
    resumed = Trainer(optimizer(monkeypatch))
    load(resumed, saved_by(Trainer(grown(monkeypatch))), True)
    assert resumed.optimizer.scaler.get_scale() == 128


def test_without_amp_nothing_is_stored():
    assert saved_by(Trainer(None, amp=False)) == {"epoch": 3}
    assert load(Trainer(None, amp=False), {amp_scale.SCALER: {"scale": 2.0}})
