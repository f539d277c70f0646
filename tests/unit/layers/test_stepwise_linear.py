"""One weight gradient for all steps must be the sum of the gradients of the steps."""

import pytest
import torch

from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear

B, OUT, IN, T = 3, 5, 4, 6


def run(apply, weight, start):
    """A recurrence, so that every step's gradient passes through the later ones."""
    state, total = start, 0.0
    for _ in range(T):
        state = torch.tanh(apply(state))[..., :IN]
        total = total + state.square().sum()
    return torch.autograd.grad(total, [weight, start])


@pytest.mark.parametrize(
    ("shape", "start_shape", "product"),
    [
        ((OUT, IN), (B, IN), "bi,oi->bo"),
        ((B, OUT, IN), (B, IN), "bi,boi->bo"),
        ((2, OUT, IN), (2, B, IN), "kbi,koi->kbo"),
    ],
)
def test_gradients_equal_those_of_a_plain_product(shape, start_shape, product):
    torch.manual_seed(0)
    weight = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    start = torch.randn(start_shape, dtype=torch.float64, requires_grad=True)

    def plain(state):
        return torch.einsum(product, state, weight)

    for ours, reference in zip(
        run(StepwiseLinear(weight), weight, start), run(plain, weight, start), strict=True
    ):
        torch.testing.assert_close(ours, reference, rtol=1e-12, atol=1e-12)


def test_backward_twice_gives_the_same_gradient_twice():
    weight = torch.randn(OUT, IN, dtype=torch.float64, requires_grad=True)
    linear = StepwiseLinear(weight)
    total = sum(
        linear(torch.full((B, IN), float(step), dtype=torch.float64)).sum() for step in range(T)
    )
    first = torch.autograd.grad(total, weight, retain_graph=True)[0]
    second = torch.autograd.grad(total, weight)[0]
    torch.testing.assert_close(first, torch.full_like(weight, B * sum(range(T))))
    torch.testing.assert_close(second, first)


def test_a_backward_pass_for_the_inputs_alone_leaves_the_weights_gradient_right():
    weight = torch.randn(OUT, IN, dtype=torch.float64, requires_grad=True)
    inputs = torch.randn(B, IN, dtype=torch.float64, requires_grad=True)
    linear = StepwiseLinear(weight)
    total = linear(inputs).square().sum()
    torch.autograd.grad(total, inputs, retain_graph=True)
    assert linear._records == []  # nothing is held on to
    total.backward()
    torch.testing.assert_close(weight.grad, 2 * (inputs @ weight.t()).t() @ inputs)


def test_a_second_derivative_is_refused_instead_of_wrong():
    weight = torch.randn(OUT, IN, requires_grad=True)
    inputs = torch.randn(B, IN, requires_grad=True)
    total = StepwiseLinear(weight)(inputs).square().sum()
    (first,) = torch.autograd.grad(total, inputs, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_inputs_that_need_no_gradient_still_give_the_weight_its_own():
    weight = torch.randn(OUT, IN, requires_grad=True)
    StepwiseLinear(weight)(torch.ones(B, IN)).sum().backward()
    torch.testing.assert_close(weight.grad, torch.full_like(weight, B))


def test_a_frozen_weight_gets_no_gradient_and_inputs_keep_theirs():
    weight, inputs = torch.randn(OUT, IN), torch.randn(B, IN, requires_grad=True)
    linear = StepwiseLinear(weight)
    linear(inputs).sum().backward()
    assert weight.grad is None
    torch.testing.assert_close(inputs.grad, weight.sum(0).expand(B, IN))
    assert linear._records == []  # nothing is held on to
