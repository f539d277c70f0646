"""Training and decoding on an accelerator: equal to the CPU's, and what they cost the host.

``tests/devices/host_waits.json`` holds every operation of an update for which the host waits, and
every upload, by the function that does it. Whoever adds one to a part that is listed changes the
table: ``python -m tests.devices.count``. A part that is not listed yet is held to the bounds alone.
"""

import functools
import json

import pytest
import torch

from fairseq_outlayers.criterions import features
from fairseq_outlayers.extensions import installed_packages
from fairseq_outlayers.losses import ClassBlock, streamed_nll
from fairseq_outlayers.samplers.base import ProposalSampler
from tests.devices import DEVICES, TOLERANCES, device_of_kind
from tests.devices.training import TABLE, cases, train

CASES = cases()
MOST_WAITS = 2


@functools.cache
def on_the_cpu(name):
    return train(CASES[name], None)


@functools.cache
def on_device(kind, name):
    """Outcome and costs of the second update."""
    with device_of_kind(kind) as device:
        outcome = train(CASES[name], device)
        waits, uploads = dict(device.waits), dict(device.uploads)
        losses = [loss.cpu() for loss in outcome.losses]
    return outcome._replace(losses=losses), waits, uploads


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_losses_and_gradients_equal_the_cpus(kind, name):
    if kind == "cuda" and "dropout" in CASES[name].model_options:
        pytest.skip("a GPU draws other masks")
    expected = on_the_cpu(name)
    found, *_ = on_device(kind, name)
    close = {"rtol": TOLERANCES[kind], "atol": TOLERANCES[kind]}
    for loss, reference in zip(found.losses, expected.losses, strict=True):
        torch.testing.assert_close(loss, reference, **close)
    assert found.gradients.keys() == expected.gradients.keys()
    for parameter, gradient in found.gradients.items():
        torch.testing.assert_close(gradient, expected.gradients[parameter], **close)


def test_every_case_of_this_package_is_in_the_table():
    listed = set(json.loads(TABLE.read_text()))
    assert listed <= set(CASES)
    if not installed_packages():
        assert listed == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_host_waits_and_uploads_of_an_update_are_those_in_the_table(name):
    _, waits, uploads = on_device("pretended", name)
    costs = {"waits": waits, "uploads": uploads}
    assert costs == json.loads(TABLE.read_text()).get(name, costs)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CASES)
def test_a_gpu_waits_no_more_often_than_the_pretended_device(name):
    expected = json.loads(TABLE.read_text()).get(name)
    if expected is None:
        pytest.skip("not in the table of the pretended device, which is not there beside a GPU")
    _, waits, _ = on_device("cuda", name)
    assert sum(waits.values()) <= sum(expected["waits"].values())


@pytest.mark.parametrize("name", CASES)
def test_no_update_of_ours_makes_the_host_wait_more_than_twice(name):
    """fairseq's Transformer asks for padding in front of its encoder and of its decoder."""
    _, waits, uploads = on_device("pretended", name)
    ours = {place: n for place, n in waits.items() if "fairseq's" not in place}
    assert sum(ours.values()) <= MOST_WAITS, "reading a tensor's values on the host waits for it"
    blocking = [place for place in uploads if "blocking" in place]
    assert blocking == [], "upload by .to(device, non_blocking=True)"


FAULTS = ["positions on the CPU", "a loop over numbers", "a table left behind"]


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    """Of the kinds that a CPU never shows: what a GPU refuses, and what makes it wait."""
    name, plain = "luong_lstm sampled_softmax", features.real_positions
    if fault == "positions on the CPU":
        monkeypatch.setattr(features, "real_positions", lambda mask, n: plain(mask.cpu(), None))
    elif fault == "a loop over numbers":

        def in_a_loop(mask, number):
            places = [place for place, is_real in enumerate(mask) if bool(is_real)]
            return torch.tensor(places, device=mask.device)

        monkeypatch.setattr(features, "real_positions", in_a_loop)
    else:
        never_moved = property(
            lambda self: self.__dict__["first"],
            lambda self, table: self.__dict__.setdefault("first", table),
        )
        monkeypatch.setattr(ProposalSampler, "log_expected_counts", never_moved, raising=False)
    with device_of_kind("pretended") as device:
        if fault != "a loop over numbers":
            with pytest.raises(RuntimeError, match=r"of the CPU among|a CPU tensor"):
                train(CASES[name], device)
            return
        train(CASES[name], device, updates=1)
        expected = json.loads(TABLE.read_text())[name]["waits"]
        assert sum(device.waits.values()) > sum(expected.values()) + 10
        assert any(
            "copy to the host" in place or "_local_scalar" in place for place in device.waits
        )
        assert any("upload, blocking" in place for place in device.uploads)


@pytest.mark.parametrize("target", [-1, 5])
def test_a_target_in_no_block_is_refused_on_a_device_too(target):
    with device_of_kind("pretended") as device:
        context, classes = torch.zeros(2, 3, device=device.device), torch.zeros(5, 3)
        targets = torch.tensor([0, target]).to(device.device)
        with pytest.raises(RuntimeError, match="nonzero value"):
            streamed_nll(context, targets, [ClassBlock(0, classes.to(device.device), None)])
