"""Which positions of a batch enter the loss."""

import pytest
import torch

from fairseq_outlayers.criterions.features import real_positions, require_output_layer
from fairseq_outlayers.errors import UserError
from tests.devices import DEVICES, device_of_kind


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize("mask", [[1, 0, 1, 1, 0, 0, 1], [1, 1], [0, 0, 1]])
def test_real_positions_are_those_of_the_mask_in_order_without_waiting(kind, mask):
    expected = [place for place, is_real in enumerate(mask) if is_real]
    mask = torch.tensor(mask, dtype=torch.bool)
    with device_of_kind(kind) as device:
        on_device = mask.to(device.device)
        device.forget()
        found = real_positions(on_device, sum(mask.tolist()))
        assert not device.waits
        assert found.cpu().tolist() == expected
    assert real_positions(mask, len(expected)).tolist() == expected


@pytest.mark.parametrize("number", [2, 4])
def test_a_wrong_number_of_tokens_is_not_believed(number):
    with device_of_kind("pretended") as device:
        mask = torch.tensor([True, False, True, True]).to(device.device)
        with pytest.raises(RuntimeError, match="Tensor with single nonzero value"):
            real_positions(mask, number)


def test_a_model_of_an_encoder_alone_is_refused():
    with pytest.raises(UserError, match="full_softmax needs a model that takes --output-layer"):
        require_output_layer(torch.nn.Module(), "full_softmax")
