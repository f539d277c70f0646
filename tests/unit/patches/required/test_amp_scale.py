"""The loss scale of --amp: its options act, and a resumed run continues with it."""

import copy
from types import SimpleNamespace

import pytest
import torch
from fairseq.optim.amp_optimizer import AMPOptimizer

from fairseq_outlayers.optim.lazy_adam import LazyAdam
from fairseq_outlayers.patches.required import amp_scale
from tests.unit.optim.test_lazy_adam import make_config

COMMON = {
    "fp16_init_scale": 128, "amp_init_scale": 128, "amp_scale_window": None,
    "min_loss_scale": 1e-4,
}  # fmt: skip


def optimizer(monkeypatch, **options):
    """An optimizer under --amp, whose scaler works without a GPU."""
    scaler = torch.amp.GradScaler
    monkeypatch.setattr(torch.amp, "GradScaler", lambda _, **options: scaler("cpu", **options))
    common, config = SimpleNamespace(**{**COMMON, **options}), make_config()
    parameters = [torch.nn.Parameter(torch.zeros(3))]
    wrapped = LazyAdam(config, parameters)
    return AMPOptimizer(SimpleNamespace(optimizer=config, common=common), parameters, wrapped)


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


def grown(monkeypatch):
    found = optimizer(monkeypatch)
    state = found.scaler.state_dict()
    found.scaler.load_state_dict({**state, "scale": 65536.0, "_growth_tracker": 7})
    return found


def test_a_resumed_run_continues_with_the_scale(monkeypatch):
    before = grown(monkeypatch)
    resumed = optimizer(monkeypatch)
    resumed.load_state_dict(before.state_dict())
    assert resumed.scaler.state_dict() == before.scaler.state_dict()


def test_it_continues_with_the_state_of_the_wrapped_optimizer(monkeypatch):
    before = grown(monkeypatch)
    before.optimizer.param_groups[0]["params"][0].grad = torch.ones(3)
    before.optimizer.step()
    saved = before.state_dict()
    kept = copy.deepcopy(saved)
    resumed = optimizer(monkeypatch)
    resumed.load_state_dict(saved, {"lr": 0.5})
    assert saved.keys() == kept.keys()  # what was read is left as it was
    (state,) = resumed.optimizer.state.values()
    assert torch.equal(state["exp_avg"], kept["state"][0]["exp_avg"])
    assert resumed.get_lr() == 0.5


@pytest.mark.parametrize("scale", [None, {}])
def test_a_checkpoint_without_a_scale_leaves_the_initial_one(scale, monkeypatch):
    """It is an older one, or it was trained on a CPU, where nothing is scaled."""
    saved = grown(monkeypatch).state_dict()
    saved = {**saved, amp_scale.SCALER: scale}
    if scale is None:
        del saved[amp_scale.SCALER]
    resumed = optimizer(monkeypatch)
    resumed.load_state_dict(saved)
    assert resumed.scaler.get_scale() == 128
