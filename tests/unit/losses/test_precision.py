"""The chunk size that is asked for, and the dtype that autocast would choose."""

import pytest
import torch

from fairseq_outlayers.losses import full_kernel, sampled_kernel
from fairseq_outlayers.losses.full import full_nll
from fairseq_outlayers.losses.gradient_products import zeros_to_sum
from fairseq_outlayers.losses.precision import choose_chunk_size, to_compute_dtype
from fairseq_outlayers.losses.sampled import sampled_nll


@pytest.mark.parametrize("asked", [1, 2, 1000])
def test_a_chunk_has_as_many_positions_as_asked_for(asked):
    assert choose_chunk_size(asked, torch.device("cpu"), 10) == asked


@pytest.mark.parametrize("enabled", [True, False])
def test_tensors_are_cast_to_autocasts_type_or_that_of_the_first(enabled):
    given = torch.zeros(2), None, torch.zeros(2, dtype=torch.float64)
    with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
        context, bias, embeddings = to_compute_dtype(*given)
    expected = torch.bfloat16 if enabled else torch.float32
    assert bias is None
    assert (context.dtype, embeddings.dtype) == (expected, expected)


@pytest.mark.parametrize("reduction", ["sum", "none"])
@pytest.mark.parametrize(
    ("states", "head"),
    [
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.bfloat16),
        (torch.float64, torch.float32),
        (torch.float32, torch.float64),
    ],
)
def test_states_and_classes_may_differ_in_precision(states, head, reduction):
    """As after a norm in float32 in a model in bfloat16. Gradients have the inputs' dtypes."""
    generator = torch.Generator().manual_seed(1)
    context = torch.randn(5, 4, generator=generator).to(states).requires_grad_()
    classes = [torch.randn(7, 4, generator=generator), torch.randn(7, generator=generator)]
    classes = [each.to(head).requires_grad_() for each in classes]
    targets = torch.tensor([0, 6, 3, 3, 1])
    loss = full_nll(context, targets, *classes, reduction=reduction).sum()
    exact = context.double() @ classes[0].double().T + classes[1].double()
    expected = torch.nn.functional.cross_entropy(exact, targets, reduction="sum")
    assert loss.item() == pytest.approx(expected.item(), rel=2e-2)
    found = torch.autograd.grad(loss, [context, *classes])
    assert [each.dtype for each in found] == [states, head, head]
    every_class = torch.zeros(7)  # sampled, with an expected count of one
    loss = sampled_nll(context, targets, *classes, every_class, reduction=reduction)[0].sum()
    assert loss.item() == pytest.approx(expected.item(), rel=2e-2)
    found = torch.autograd.grad(loss, [context, *classes])
    assert [each.dtype for each in found] == [states, head, head]


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
