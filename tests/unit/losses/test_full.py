"""The losses against the equations, written naively in float64."""

import functools
import math

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_outlayers.losses import (
    full,
    full_nll,
    sampled_nll,
    scored_classes,
    smoothing_term,
)
from fairseq_outlayers.losses.precision import choose_chunk_size

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
    if request.param == "PyTorch's kernel" and not full._has_linear_cross_entropy:
        pytest.skip("this PyTorch has no such kernel")
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


@pytest.mark.parametrize("reduction", ["mean", "Sum", ""])
def test_an_unknown_reduction_is_refused(scored, reduction):
    with pytest.raises(ValueError, match=f"reduction={reduction!r}.*'sum' or 'none'"):
        full_nll(*scored, reduction=reduction)


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("with_bias", [True, False])
def test_under_autocast_every_input_is_rounded_to_its_type(scored, with_bias):
    context, targets, embeddings, bias = (t.detach().float() if t.is_floating_point() else t
                                          for t in scored)  # fmt: skip
    bias = bias if with_bias else None
    low = [None if t is None else t.bfloat16().double() for t in (context, embeddings, bias)]
    one_hot = torch.nn.functional.one_hot(targets, V).double()
    expected = naive_cross_entropy(naive_logits(*low), one_hot)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        each = full_nll(context, targets, embeddings, bias, reduction="none")
    assert each.dtype == torch.float32
    # The scores are rounded to bfloat16, too: half a unit in the last place of up to 8.
    torch.testing.assert_close(each.double(), expected, rtol=0, atol=2 * 8 * 2**-9)


@pytest.mark.usefixtures("implementation")
def test_no_positions_give_zero_loss(scored):
    context, targets, embeddings, bias = scored
    assert full_nll(context[:0], targets[:0], embeddings, bias).item() == 0.0
    assert full_nll(context[:0], targets[:0], embeddings, bias, reduction="none").shape == (0,)


@pytest.mark.usefixtures("implementation")
def test_equal_scores_cost_the_logarithm_of_the_number_of_classes():
    nll = full_nll(torch.zeros(3, D), torch.tensor([0, 5, 22]), torch.ones(V, D))
    assert nll.item() == pytest.approx(3 * math.log(V), rel=1e-6)


def loss_and_gradients(nll, scored):
    context, targets, embeddings, bias = scored
    loss = nll(context, targets, embeddings, bias)
    return [loss.detach(), *torch.autograd.grad(loss, [context, embeddings, bias])]


def plain_nll(context, targets, embeddings, bias):
    logits = torch.nn.functional.linear(context, embeddings, bias)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return torch.nn.functional.cross_entropy(logits, targets, reduction="sum")


def relative_errors(values, references):
    return [
        ((value.double() - reference).norm() / reference.norm()).item()
        for value, reference in zip(values, references, strict=True)
    ]


def to_dtype(scored, dtype):
    return [
        tensor.detach().to(dtype).requires_grad_() if tensor.is_floating_point() else tensor
        for tensor in scored
    ]


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_errs_no_more_than_the_plain_computation_in_it(scored, dtype):
    low = to_dtype(scored, dtype)
    exact = loss_and_gradients(plain_nll, to_dtype(low, torch.float64))
    plain, ours = (loss_and_gradients(nll, low) for nll in (plain_nll, full_nll))
    errors = zip(relative_errors(ours, exact), relative_errors(plain, exact), strict=True)
    # Both start from scores rounded alike; a rounding at the end may fall one way or the other.
    assert all(error <= of_plain + torch.finfo(dtype).eps / 4 for error, of_plain in errors)


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_many_chunks_in_low_precision_are_added_up_in_float32(dtype):
    generator = torch.Generator().manual_seed(1)
    scored = [
        torch.randn(8192, 16, generator=generator),
        torch.randint(32, (8192,), generator=generator),
        torch.randn(32, 16, generator=generator) / 4,
        torch.randn(32, generator=generator),
    ]
    low = to_dtype(scored, dtype)
    exact = loss_and_gradients(plain_nll, to_dtype(low, torch.float64))
    ours = loss_and_gradients(functools.partial(full_nll, chunk_size=128), low)
    # Summed in the type itself, 64 chunks err by 1e-2 in bfloat16.
    assert max(relative_errors(ours, exact)) < 0.6 * torch.finfo(dtype).eps


@pytest.mark.usefixtures("implementation")
def test_probabilities_too_small_for_float16_still_reach_the_gradients():
    """Of a class with probability 4e-8, which float16 rounds to 6e-8."""
    context = torch.ones(4, 1, dtype=torch.float16, requires_grad=True)
    embeddings = torch.tensor([[0.0], [-17.0]]).half().requires_grad_()
    loss = full_nll(context, torch.tensor([0, 0, 0, 0]), embeddings)
    loss.backward(torch.tensor(2.0**20))  # as a loss scale would
    probability = 1 / (1 + math.exp(17))
    assert embeddings.grad[1].item() == pytest.approx(4 * 2.0**20 * probability, rel=1e-2)
    expected = [[-17 * 2.0**20 * probability]] * 4
    torch.testing.assert_close(context.grad, torch.tensor(expected).half(), rtol=1e-2, atol=0)


def test_a_sum_outside_pytorchs_kernel_can_be_differentiated_once_only(scored, monkeypatch):
    monkeypatch.setattr(full, "_has_linear_cross_entropy", False)
    loss = full_nll(*scored)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="only once"):
        loss.backward()


@pytest.mark.usefixtures("implementation")
def test_frozen_class_embeddings_take_no_gradient_and_change_no_other(scored):
    context, targets, embeddings, bias = scored
    frozen = (context, targets, embeddings.detach(), bias.detach())
    (alone,) = torch.autograd.grad(full_nll(*frozen), [context])
    with_all, *_ = torch.autograd.grad(full_nll(*scored), [context, embeddings, bias])
    torch.testing.assert_close(alone, with_all, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("classes", "positions"), [(100, 2048), (32_000, 2048), (500_000, 128), (10_000_000, 8)]
)
def test_scores_of_a_chunk_on_an_accelerator_fit_into_half_a_gigabyte(classes, positions):
    chosen = choose_chunk_size(0, torch.device("cuda"), classes)
    assert chosen == positions
    assert chosen == 8 or chosen * classes * 8 <= 2**29
    assert choose_chunk_size(77, torch.device("cuda"), classes) == 77
    assert choose_chunk_size(0, torch.device("cpu"), classes) == 128


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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_smoothing_of_a_frequent_class_bias_does_not_stand_still(dtype):
    targets, found = torch.zeros(4000, dtype=torch.long), []
    for kind in (dtype, torch.float64):
        bias = torch.zeros(8, dtype=kind, requires_grad=True)
        context, embeddings = torch.zeros(4000, 2, dtype=kind), torch.ones(8, 2, dtype=kind)
        term = smoothing_term(context, targets, embeddings, bias, 0.5).sum()
        found.append(torch.autograd.grad(term, bias)[0].double())
    torch.testing.assert_close(*found, rtol=2 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_smoothing_of_a_frequent_class_embedding_does_not_stand_still(dtype):
    generator, found = torch.Generator().manual_seed(1), []
    targets = torch.zeros(4000, dtype=torch.long)
    context = (1 + torch.randn(4000, 2, generator=generator)).to(dtype)
    for kind in (dtype, torch.float64):
        embeddings = torch.ones(8, 2, dtype=kind, requires_grad=True)
        term = smoothing_term(context.to(kind), targets, embeddings, None, 0.5).sum()
        found.append(torch.autograd.grad(term, embeddings)[0].double())
    torch.testing.assert_close(*found, rtol=2 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("ignore_index", [0, 1])
def test_the_ignored_class_gets_no_mass_of_the_smoothing(scored, ignore_index):
    context, targets, embeddings, bias = scored
    smoothing = 0.3
    targets = torch.where(targets == ignore_index, 2, targets)
    distributions = torch.full((N, V), smoothing / (V - 2), dtype=torch.float64)
    distributions[:, ignore_index] = 0
    distributions[torch.arange(N), targets] = 1 - smoothing
    assert torch.allclose(distributions.sum(1), torch.ones(N, dtype=torch.float64))
    expected = naive_cross_entropy(naive_logits(context, embeddings, bias), distributions)

    loss = full_nll(context, targets, embeddings, bias, reduction="none") + smoothing_term(
        context, targets, embeddings, bias, smoothing, ignore_index
    )
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("reduction", ["sum", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("target", [-100, -1, 7])
def test_targets_that_are_no_class_are_refused(target, dtype, reduction):
    """PyTorch's losses ignore -100; ours would ignore it in some types and fail in others."""
    context, classes = torch.zeros(3, 2, dtype=dtype), torch.zeros(7, 2, dtype=dtype)
    targets = torch.tensor([0, target, 6])
    with pytest.raises(ValueError, match=f"target {target}: must be a class, .* below 7"):
        full_nll(context, targets, classes, reduction=reduction)


@pytest.mark.parametrize("ignored", [-100, -1, V])
def test_an_ignored_class_that_is_none_is_refused(scored, ignored):
    with pytest.raises(ValueError, match=f"ignore_index={ignored}: must be a class, .* below {V},"):
        smoothing_term(*scored, 0.1, ignored)


def test_targets_that_are_no_int64_are_refused():
    context, classes, targets = torch.zeros(2, 3), torch.zeros(4, 3), torch.tensor([0, 1]).int()
    for nll in (
        lambda: full_nll(context, targets, classes),
        lambda: sampled_nll(context, targets, classes, None, torch.zeros(4)),
        lambda: scored_classes(torch.tensor([1]), targets),
    ):
        with pytest.raises(ValueError, match=r"targets of type torch\.int32: must be torch\.int64"):
            nll()


def test_a_negative_chunk_size_is_refused():
    context, classes, targets = torch.zeros(2, 3), torch.zeros(4, 3), torch.tensor([0, 1])
    for nll in (
        lambda: full_nll(context, targets, classes, chunk_size=-5),
        lambda: sampled_nll(context, targets, classes, None, torch.zeros(4), chunk_size=-5),
    ):
        with pytest.raises(ValueError, match="chunk_size=-5: must be at least 0"):
            nll()


@pytest.mark.parametrize(
    ("context", "targets", "classes", "bias", "message"),
    [
        ((2, 3, 4), (2, 3), (7, 4), (7,), r"\(2, 3, 4\) and targets \(2, 3\).*flatten"),
        ((3, 4), (2,), (7, 4), (7,), r"\(3, 4\) and targets \(2,\)"),
        ((3, 4), (3,), (7, 5), (7,), r"class embeddings \(7, 5\) for contexts \(3, 4\)"),
        ((3, 4), (3,), (7, 4), (6,), r"class bias \(6,\): must be \(7,\)"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(context, targets, classes, bias, message):
    targets = torch.zeros(targets, dtype=torch.long)
    with pytest.raises(ValueError, match=message):
        full_nll(torch.zeros(context), targets, torch.zeros(classes), torch.zeros(bias))
    with pytest.raises(ValueError, match=message):
        sampled_nll(
            torch.zeros(context), targets, torch.zeros(classes), torch.zeros(bias), torch.zeros(5)
        )


def test_on_a_cpu_the_sum_is_compiled_as_one_graph():
    generator = torch.Generator().manual_seed(1)
    shapes = (6, 4), (5, 4), (5,)
    context, classes, bias = (torch.randn(s, generator=generator) for s in shapes)
    targets = torch.tensor([0, 1, 2, 3, 4, 0])

    def gradients(loss):
        leaves = [tensor.clone().requires_grad_() for tensor in (context, classes, bias)]
        loss(leaves[0], targets, *leaves[1:]).backward()
        return [leaf.grad for leaf in leaves]

    found = gradients(torch.compile(full_nll, backend="eager", fullgraph=True))
    torch.testing.assert_close(found, gradients(full_nll))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("by", ["inputs", "autocast"])
def test_smoothing_sums_the_scores_of_many_classes_in_float32(dtype, by):
    """100,005 and 140,007: float16 cannot hold them, bfloat16 rounds them."""
    low, classes = dtype if by == "inputs" else torch.float32, 20_001
    context, targets = torch.ones(3, 1, dtype=low), torch.zeros(3, dtype=torch.long)
    embeddings = torch.full((classes, 1), 5.0, dtype=low)
    inputs = context, targets, embeddings, torch.full((classes,), 7.0, dtype=low)
    with torch.autocast("cpu", dtype=dtype, enabled=by == "autocast"):
        term = smoothing_term(*inputs, 0.1)
        loss, nll = sampled_nll(*inputs, torch.zeros(classes), 0.1, "none")
    assert term.abs().max() < 1e-5  # all scores are 12
    torch.testing.assert_close(loss, nll, rtol=0, atol=1e-4)


@pytest.mark.parametrize("ignore_index", [None, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_smoothing_makes_one_gradient_of_the_class_table(dtype, ignore_index):
    """And its cast; autograd would make one for the sum, the targets and the ignored class each."""

    class Made(TorchDispatchMode):
        tables = 0

        def __torch_dispatch__(self, function, types, arguments=(), named=None):
            found = function(*arguments, **(named or {}))
            is_new = "aten::" in function.name() and not function.is_view
            if is_new and isinstance(found, torch.Tensor) and found.shape == (50, 8):
                self.tables += function._schema.name[-1] != "_"  # not in place
            return found

    context, classes = torch.randn(3, 8, dtype=dtype), torch.randn(50, 8, dtype=dtype)
    classes.requires_grad_()
    term = smoothing_term(context, torch.tensor([0, 4, 4]), classes, None, 0.1, ignore_index).sum()
    with Made() as made:
        term.backward()
    assert made.tables <= 1 + (dtype != torch.float32)


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("name", ["full", "sampled"])
def test_a_second_derivative_of_a_sum_is_refused(scored, name):
    context, targets, embeddings, bias = scored
    states = context.tanh()
    if name == "full":
        loss = full_nll(states, targets, embeddings, bias)
    else:
        loss, _ = sampled_nll(states, targets, embeddings, bias, torch.zeros(V))
    with pytest.raises(RuntimeError, match="only once"):
        torch.autograd.grad(loss, context, create_graph=True)
