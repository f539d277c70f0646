"""The chunk size that is asked for, and the dtype that autocast would choose."""

import pytest
import torch

from fairseq_outlayers.losses.precision import choose_chunk_size, in_autocast_type


@pytest.mark.parametrize("asked", [1, 2, 1000])
def test_a_chunk_has_as_many_positions_as_asked_for(asked):
    assert choose_chunk_size(asked, torch.device("cpu"), 10) == asked


@pytest.mark.parametrize("enabled", [True, False])
def test_tensors_are_cast_under_autocast_alone(enabled):
    given = torch.zeros(2), None, torch.zeros(2, dtype=torch.float64)
    with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
        context, bias, embeddings = in_autocast_type(*given)
    low = torch.bfloat16
    assert bias is None
    assert (context.dtype, embeddings.dtype) == (
        (low, low) if enabled else (torch.float32, torch.float64)
    )
