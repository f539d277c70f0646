"""Under --amp an optimizer moves as far as without it."""

import pytest
import torch
from fairseq import optim
from fairseq.optim.amp_optimizer import AMPOptimizer
from omegaconf import OmegaConf

OPTIMIZERS = {
    "sgd": {"lr": [0.1], "momentum": 0.0, "weight_decay": 0.0},
    "adadelta": {
        "lr": [1.0],
        "adadelta_rho": 0.95,
        "adadelta_eps": 1e-6,
        "weight_decay": 0.0,
        "anneal_eps": False,
    },
    "adam": {"lr": [0.1], "adam_betas": "(0.9, 0.999)", "adam_eps": 1e-8, "weight_decay": 0.0},
}

SCALE = {"fp16_init_scale": 128, "amp_init_scale": 128, "amp_scale_window": None}


def parameters_after_three_steps(name, gradient_size, scale=None):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    common = {**SCALE, "min_loss_scale": 1e-4}
    cfg = OmegaConf.create(
        {"optimizer": {"_name": name, **OPTIMIZERS[name]}, "common": {**common, "tpu": False}}
    )
    parameters = list(model.parameters())
    if scale is None:
        optimizer = optim.build_optimizer(cfg.optimizer, parameters)
    else:
        optimizer = AMPOptimizer.build_optimizer(cfg, parameters)
        optimizer._grad_scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    for _ in range(3):
        optimizer.zero_grad()
        optimizer.backward(model(torch.ones(2, 4)).pow(2).sum() * gradient_size)
        optimizer.clip_grad_norm(5.0)
        optimizer.step()
    return torch.cat([parameter.detach().flatten() for parameter in parameters])


@pytest.mark.parametrize("scale", [128.0, 2.0**16])
@pytest.mark.parametrize("gradient_size", [1e-3, 1e-5])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_loss_scale_does_not_change_what_is_learnt(name, gradient_size, scale):
    """All scales are powers of two, so float32 loses nothing by them."""
    expected = parameters_after_three_steps(name, gradient_size)
    found = parameters_after_three_steps(name, gradient_size, scale)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore")
def test_an_overflow_is_not_stepped_on_and_halves_the_scale():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 2)
    before = model.weight.detach().clone()
    common = {**SCALE, "min_loss_scale": 1e-4}
    cfg = OmegaConf.create(
        {"optimizer": {"_name": "sgd", **OPTIMIZERS["sgd"]}, "common": {**common, "tpu": False}}
    )
    optimizer = AMPOptimizer.build_optimizer(cfg, list(model.parameters()))
    optimizer._grad_scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
    optimizer.backward(model(torch.full((1, 2), float("inf"))).sum())
    optimizer.clip_grad_norm(5.0)
    optimizer.step()
    assert torch.equal(model.weight, before)
    assert optimizer.scaler.get_scale() == 64.0
