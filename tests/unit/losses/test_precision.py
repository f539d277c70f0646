"""The chunk size that is asked for, and the dtype that autocast would choose."""

import pytest
import torch

from fairseq_outlayers.losses import full_kernel, sampled_kernel
from fairseq_outlayers.losses.full import full_nll
from fairseq_outlayers.losses.gradient_products import zeros_to_sum
from fairseq_outlayers.losses.precision import choose_chunk_size, in_autocast_type
from fairseq_outlayers.losses.sampled import sampled_nll


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


def test_no_gradient_is_summed_where_none_is_recorded(monkeypatch):
    """A parameter wants one in validation, too."""
    summed = []

    def zeros(like):
        summed.append(like)
        return zeros_to_sum(like)

    for kernel in (full_kernel, sampled_kernel):
        monkeypatch.setattr(kernel, "zeros_to_sum", zeros)
    context = torch.randn(6, 4, dtype=torch.bfloat16)
    table = torch.nn.Parameter(torch.randn(20, 4, dtype=torch.bfloat16))
    targets, log_counts = torch.arange(6), torch.zeros(14)

    def losses():
        return (
            full_nll(context, targets, table),
            sampled_nll(context, targets + 14, table, None, log_counts)[0],
        )

    with torch.no_grad():
        without = losses()
    assert summed == []
    for one, other in zip(losses(), without, strict=True):
        assert torch.equal(one, other)
    assert summed


def test_autocast_leaves_float64_alone_as_that_of_a_linear_layer():
    context, classes = torch.randn(3, 4).double(), torch.randn(5, 4).double()
    targets, counts = torch.tensor([1, 2, 3]), torch.zeros(4)
    expected = (
        full_nll(context, targets, classes),
        sampled_nll(context, targets, classes, None, counts),
    )
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.nn.functional.linear(context, classes).dtype == torch.float64
        found = (
            full_nll(context, targets, classes),
            sampled_nll(context, targets, classes, None, counts),
        )
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
