"""The losses against the equations, written naively in float64."""

import math

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_outlayers.losses import full, full_nll, smoothing_term

N, V, D = 11, 23, 5


@pytest.fixture
def scored():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    targets = torch.randint(V, (N,), generator=generator)
    return normal(N, D), targets, normal(V, D), normal(V)


@pytest.fixture(params=["PyTorch's kernel", "older PyTorch"])
def implementation(request, monkeypatch):
    monkeypatch.setattr(full, "_has_linear_cross_entropy", request.param == "PyTorch's kernel")


def naive_logits(context, class_embeddings, class_bias):
    """One score at a time."""
    rows = []
    for state in context:
        row = [(state * embedding).sum() for embedding in class_embeddings]
        rows.append(torch.stack(row) if class_bias is None else torch.stack(row) + class_bias)
    return torch.stack(rows)


def naive_cross_entropy(logits, distributions):
    """``-sum_k q_k log p_k`` for each row."""
    log_normalizer = logits.exp().sum(1, keepdim=True).log()
    return -(distributions * (logits - log_normalizer)).sum(1)


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("chunk_size", [0, 1, 4, N, 100])
def test_full_nll_and_its_gradients_equal_the_naive_softmax(scored, with_bias, chunk_size):
    context, targets, embeddings, bias = scored
    bias = bias if with_bias else None
    inputs = [tensor for tensor in (context, embeddings, bias) if tensor is not None]
    one_hot = torch.nn.functional.one_hot(targets, V).double()
    expected = naive_cross_entropy(naive_logits(context, embeddings, bias), one_hot).sum()
    expected_gradients = torch.autograd.grad(expected, inputs)

    nll = full_nll(context, targets, embeddings, bias, chunk_size=chunk_size)
    gradients = torch.autograd.grad(nll, inputs)

    torch.testing.assert_close(nll, expected, rtol=1e-12, atol=1e-12)
    for gradient, reference in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(gradient, reference, rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("implementation")
def test_unreduced_nll_sums_to_the_reduced_one(scored):
    each = full_nll(*scored, reduction="none", chunk_size=3)
    assert each.shape == (N,)
    torch.testing.assert_close(each.sum(), full_nll(*scored), rtol=1e-12, atol=0)


@pytest.mark.usefixtures("implementation")
def test_no_positions_give_zero_loss(scored):
    context, targets, embeddings, bias = scored
    assert full_nll(context[:0], targets[:0], embeddings, bias).item() == 0.0
    assert full_nll(context[:0], targets[:0], embeddings, bias, reduction="none").shape == (0,)


@pytest.mark.usefixtures("implementation")
def test_equal_scores_cost_the_logarithm_of_the_number_of_classes():
    nll = full_nll(torch.zeros(3, D), torch.tensor([0, 5, 22]), torch.ones(V, D))
    assert nll.item() == pytest.approx(3 * math.log(V), rel=1e-6)


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_is_as_good_as_the_plain_computation_in_it(scored, dtype):
    context, targets, embeddings, bias = (
        tensor.detach().to(dtype).requires_grad_() if tensor.is_floating_point() else tensor
        for tensor in scored
    )
    logits = torch.nn.functional.linear(context, embeddings, bias)
    plain = torch.nn.functional.cross_entropy(logits.float(), targets, reduction="sum")
    expected = torch.autograd.grad(plain, [context, embeddings, bias])
    ours = full_nll(context, targets, embeddings, bias)
    torch.testing.assert_close(ours, plain, rtol=1e-6, atol=0)
    gradients = torch.autograd.grad(ours, [context, embeddings, bias])
    for gradient, reference in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient, reference)


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("by", ["inputs", "autocast"])
def test_a_large_batch_in_low_precision_is_summed_in_float32(dtype, by):
    positions, classes = 7200, 20_000  # N ln V = 71,304 nats: more than float16 can hold
    context = torch.zeros(positions, 1, dtype=dtype if by == "inputs" else torch.float32)
    embeddings = torch.full((classes, 1), 3.0).to(context.dtype)
    targets = torch.zeros(positions, dtype=torch.long)
    with torch.autocast("cpu", dtype=dtype, enabled=by == "autocast"):
        nll = full_nll(context, targets, embeddings)
        term = smoothing_term(context + 1, targets, embeddings, None, 0.1)
    assert nll.dtype == torch.float32
    assert nll.item() == pytest.approx(positions * math.log(classes), rel=1e-5)
    # All scores are 3: the smoothed loss is the plain one, whatever the smoothing.
    assert term.abs().max().item() < 1e-2


class LargestTensor(TorchDispatchMode):
    """Notes the number of elements of the largest tensor that any operation returns."""

    def __init__(self):
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in torch.utils._pytree.tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self.elements = max(self.elements, tensor.numel())
        return result


@pytest.mark.usefixtures("implementation")
def test_no_table_of_all_log_probabilities_is_ever_made():
    positions, classes = 600, 700
    context = torch.randn(positions, D, requires_grad=True)
    embeddings = torch.randn(classes, D, requires_grad=True)
    targets = torch.randint(classes, (positions,))
    with LargestTensor() as largest:
        nll = full_nll(context, targets, embeddings, chunk_size=50)
        (nll + smoothing_term(context, targets, embeddings, None, 0.1).sum()).backward()
    assert largest.elements <= 50 * classes
    with LargestTensor() as plain:
        torch.nn.functional.cross_entropy(context @ embeddings.t(), targets).backward()
    assert plain.elements == positions * classes  # the measure does see such a table


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("smoothing", [0.1, 0.6])
def test_smoothed_loss_and_gradients_equal_fairseqs(scored, smoothing, with_bias):
    context, targets, embeddings, bias = scored
    bias = bias if with_bias else None
    inputs = [tensor for tensor in (context, embeddings, bias) if tensor is not None]
    log_probabilities = naive_logits(context, embeddings, bias).log_softmax(-1)
    expected, expected_nll = label_smoothed_nll_loss(log_probabilities, targets, smoothing)
    expected_gradients = torch.autograd.grad(expected, inputs)

    nll = full_nll(context, targets, embeddings, bias)
    loss = nll + smoothing_term(context, targets, embeddings, bias, smoothing).sum()
    gradients = torch.autograd.grad(loss, inputs)

    torch.testing.assert_close(nll, expected_nll, rtol=1e-12, atol=0)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)
    for gradient, reference in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(gradient, reference, rtol=1e-10, atol=1e-12)


def test_a_class_left_out_of_the_smoothing_gets_no_mass(scored):
    context, targets, embeddings, bias = scored
    left_out, smoothing = 1, 0.3
    targets = torch.where(targets == left_out, 2, targets)
    distributions = torch.full((N, V), smoothing / (V - 2), dtype=torch.float64)
    distributions[:, left_out] = 0
    distributions[torch.arange(N), targets] = 1 - smoothing
    assert torch.allclose(distributions.sum(1), torch.ones(N, dtype=torch.float64))
    expected = naive_cross_entropy(naive_logits(context, embeddings, bias), distributions)

    loss = full_nll(context, targets, embeddings, bias, reduction="none") + smoothing_term(
        context, targets, embeddings, bias, smoothing, left_out
    )
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
