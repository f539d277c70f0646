"""The sampled softmax against the equation, one position and one class at a time, in float64."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_outlayers.losses import (
    ClassBlock,
    checks,
    full_nll,
    sampled_nll,
    scored_classes,
    smoothing_term,
    streamed_nll,
)
from fairseq_outlayers.samplers.batch_negatives import BatchNegativesSampler
from fairseq_outlayers.samplers.unigram import UnigramSampler
from tests.unit.losses.test_full import LargestTensor

N, V, D = 5, 12, 3
SAMPLED = [1, 2, 5, 7, 10]


@pytest.fixture
def scored():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    targets = torch.randint(V, (N,), generator=generator)
    targets[:3] = torch.tensor([2, 10, 3])  # two accidental hits and a miss, whatever the rest is
    return normal(N, D), targets, normal(V, D), normal(V)


def naive_losses(scored, sampled, expected_count, smoothing):
    """``(N,)`` losses and NLLs; ``sampled`` may repeat a class, as a draw may."""
    context, targets, embeddings, bias = scored
    losses, nlls = [], []
    for n, target in enumerate(targets.tolist()):
        own = (context[n] * embeddings[target]).sum()
        own = own if bias is None else own + bias[target]
        others, weighted = [], []
        for k in sampled:
            if k != target:
                score = (context[n] * embeddings[k]).sum() + (0 if bias is None else bias[k])
                others.append(score - math.log(expected_count[k]))
                weighted.append(score / expected_count[k])
        log_normalizer = torch.stack([own, *others]).exp().sum().log()
        nlls.append(log_normalizer - own)
        if others:
            weight = sum(1 / expected_count[k] for k in sampled if k != target)
            shared = smoothing / weight * torch.stack(weighted).sum()
            losses.append(log_normalizer - (1 - smoothing) * own - shared)
        else:
            losses.append(log_normalizer - own)
    return torch.stack(losses), torch.stack(nlls)


def ours(scored, sampled, expected_count=None, **options):
    context, targets, embeddings, bias = scored
    sampled = torch.tensor(sampled, dtype=torch.long)
    ids, rows = scored_classes(sampled, targets)
    log_expected = torch.zeros(len(sampled), dtype=torch.float64)
    if expected_count is not None:
        counts = [expected_count[k] for k in sampled.tolist()]
        log_expected = torch.tensor(counts, dtype=torch.float64).log()
    bias = None if bias is None else bias[ids]
    return sampled_nll(context, rows, embeddings[ids], bias, log_expected, **options)


def gradients_of(value, scored):
    context, _, embeddings, bias = scored
    inputs = [tensor for tensor in (context, embeddings, bias) if tensor is not None]
    return torch.autograd.grad(value, inputs, retain_graph=True)


COUNTS = {k: 0.1 + 0.2 * k for k in range(V)}
ONES = dict.fromkeys(range(V), 1.0)
SAMPLES = {
    "some": SAMPLED,
    "none": [],
    "one": [2],
    "all": list(range(V)),
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("with_bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("chunk_size", [0, 2])
@pytest.mark.parametrize("counts", [None, COUNTS], ids=["uncorrected", "corrected"])
def test_losses_and_gradients_equal_the_naive_sum(
    scored, sample, with_bias, smoothing, chunk_size, counts
):
    scored = scored if with_bias else (*scored[:3], None)
    expected, expected_nll = naive_losses(scored, SAMPLES[sample], counts or ONES, smoothing)
    options = {"smoothing": smoothing, "chunk_size": chunk_size}
    each, each_nll = ours(scored, SAMPLES[sample], counts, reduction="none", **options)
    torch.testing.assert_close(each, expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(each_nll, expected_nll, rtol=1e-10, atol=1e-12)

    loss, nll = ours(scored, SAMPLES[sample], counts, **options)
    torch.testing.assert_close(loss, expected.sum(), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(nll, expected_nll.sum(), rtol=1e-10, atol=1e-12)
    references = gradients_of(expected.sum(), scored)
    for value in (loss, each.sum()):
        for gradient, reference in zip(gradients_of(value, scored), references, strict=True):
            torch.testing.assert_close(gradient, reference, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "Sum", ""])
def test_an_unknown_reduction_is_refused(scored, reduction):
    with pytest.raises(ValueError, match=f"reduction={reduction!r}.*'sum' or 'none'"):
        ours(scored, SAMPLED, reduction=reduction)


def test_repeated_draws_count_as_often_as_they_came(scored):
    draws, expected = [5, 5, 5, 8, 10, 10], {5: 0.7, 8: 0.2, 10: 1.4}
    expected = {**ONES, **expected}
    reference, _ = naive_losses(scored, draws, expected, smoothing=0.0)
    merged = {k: expected[k] / draws.count(k) for k in (5, 8, 10)}
    loss, _ = ours(scored, [5, 8, 10], merged, reduction="none")
    torch.testing.assert_close(loss, reference, rtol=1e-12, atol=0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_every_class_sampled_once_is_the_full_softmax(scored, smoothing):
    loss, nll = ours(scored, list(range(V)), smoothing=smoothing)
    expected = full_nll(*scored)
    torch.testing.assert_close(nll, expected, rtol=1e-12, atol=0)
    if smoothing:
        expected = expected + smoothing_term(*scored, smoothing=smoothing).sum()
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)
    for gradient, reference in zip(
        gradients_of(loss, scored), gradients_of(expected, scored), strict=True
    ):
        torch.testing.assert_close(gradient, reference, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_smoothing_is_spread_evenly_however_classes_are_sampled(reduction):
    """All scores are 0, so the smoothing's part of a bias's gradient is its share of the mass."""
    classes, positions, smoothing, rounds = 300, 4, 0.1, 400
    sampler = UnigramSampler(1e5 / np.arange(1, classes + 1), 100)
    context, targets = torch.zeros(positions, 1), torch.arange(positions)
    mass = torch.zeros(classes)
    for number in range(rounds):
        sample = sampler.sample(targets, np.random.default_rng(number))
        ids, rows = scored_classes(sample.ids, targets)
        bias = torch.zeros(len(ids), requires_grad=True)
        terms = context, rows, torch.zeros(len(ids), 1), bias, sample.log_expected_count
        loss, nll = sampled_nll(*terms, smoothing=smoothing, reduction=reduction)
        torch.testing.assert_close(loss, nll)  # the target's score is the mean of the others
        (share,) = torch.autograd.grad((nll - loss).sum(), bias)
        mass[ids] += share / rounds / positions / smoothing
    wrong = mass[positions:] * (classes - 1)
    for begin in (0, 30, 100, 200):
        assert wrong[begin : begin + 90].mean().item() == pytest.approx(1, rel=0.1)


def test_smoothing_has_no_share_for_others_that_are_lost_in_rounding(scored):
    counts = {**ONES, 2: 1e-12}
    loss, nll = ours(scored, [2, 7], counts, smoothing=0.1, reduction="none")
    assert scored[1][0] == 2
    assert loss[0] == nll[0]
    assert loss[1] != nll[1]


def test_classes_that_are_neither_sampled_nor_targets_get_no_gradient(scored):
    loss, _ = ours(scored, SAMPLED, COUNTS)
    _, of_embeddings, of_bias = gradients_of(loss, scored)
    touched = sorted({*SAMPLED, *scored[1].tolist()})
    others = [k for k in range(V) if k not in touched]
    assert others
    assert of_embeddings[others].abs().max() == 0
    assert of_bias[others].abs().max() == 0
    assert of_embeddings[touched].abs().min() > 0
    assert of_bias[touched].abs().min() > 0


class Products(TorchDispatchMode):
    """Counts products of matrices."""

    def __init__(self):
        super().__init__()
        self.number = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.number += function.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm_)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "trained", [subset for size in range(4) for subset in itertools.combinations(range(3), size)]
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_frozen_inputs_take_no_gradient_and_no_product_and_change_no_other(scored, trained, dtype):
    context, targets, embeddings, bias = scored
    inputs = [tensor.detach().to(dtype).requires_grad_() for tensor in (context, embeddings, bias)]
    ids, rows = scored_classes(torch.tensor(SAMPLED), targets)

    def loss(context, embeddings, bias):
        zeros = torch.zeros(len(SAMPLED), dtype=dtype)
        return sampled_nll(context, rows, embeddings[ids], bias[ids], zeros, chunk_size=N)[0]

    expected = torch.autograd.grad(loss(*inputs), inputs)
    given = [t if k in trained else t.detach() for k, t in enumerate(inputs)]
    with Products() as products:
        nll = loss(*given)
    # Of the scores, and for the gradients of the context and of the embeddings.
    assert products.number == 1 + len({0, 1}.intersection(trained))
    assert nll.requires_grad == bool(trained)
    if trained:
        found = torch.autograd.grad(nll, [inputs[k] for k in trained])
        assert all(f.equal(expected[k]) for f, k in zip(found, trained, strict=True))


def test_a_sum_can_be_differentiated_once_only(scored):
    loss, _ = ours(scored, SAMPLED)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="only once"):
        loss.backward()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("by", ["inputs", "autocast"])
def test_low_precision_is_close_to_the_exact_value_and_summed_in_float32(dtype, by):
    positions, classes = 32_000, 8
    low = dtype if by == "inputs" else torch.float32
    context = torch.zeros(positions, 2, dtype=low, requires_grad=True)
    embeddings = torch.ones(classes, 2, dtype=low, requires_grad=True)
    rows = torch.zeros(positions, dtype=torch.long)
    with torch.autocast("cpu", dtype=dtype, enabled=by == "autocast"):
        loss, nll = sampled_nll(
            context, rows, embeddings, None, torch.zeros(classes), chunk_size=8000
        )
    assert loss.dtype == nll.dtype == torch.float32
    # 66,542 nats: more than float16 can hold.
    assert nll.item() == pytest.approx(positions * math.log(classes), rel=1e-5)
    loss.backward()
    assert context.grad.isfinite().all()
    assert embeddings.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_of_a_frequent_class_bias_does_not_stand_still(dtype, smoothing):
    """A sum of ones does so at 256 in bfloat16, and at 2,048 in float16."""
    rows = torch.tensor([0] * 3000 + [1] * 1000)
    found = []
    for kind in (dtype, torch.float64):
        bias = torch.zeros(8, dtype=kind, requires_grad=True)
        context, embeddings = torch.zeros(4000, 2, dtype=kind), torch.ones(8, 2, dtype=kind)
        expected = torch.zeros(6)
        loss, _ = sampled_nll(context, rows, embeddings, bias, expected, smoothing=smoothing)
        found.append(torch.autograd.grad(loss, bias)[0].double())
    torch.testing.assert_close(*found, rtol=2 * torch.finfo(dtype).eps, atol=1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("smoothing", "reduction"), [(0.1, "sum"), (0.1, "none"), (0.0, "none")])
def test_the_gradient_of_a_frequent_class_embedding_does_not_stand_still(
    dtype, smoothing, reduction
):
    generator, found = torch.Generator().manual_seed(1), []
    rows = torch.tensor([0] * 3000 + [1] * 1000)
    context = (1 + torch.randn(4000, 2, generator=generator)).to(dtype)
    for kind in (dtype, torch.float64):
        embeddings = torch.zeros(8, 2, dtype=kind, requires_grad=True)
        loss, _ = sampled_nll(
            context.to(kind), rows, embeddings, None, torch.zeros(6), smoothing, reduction
        )
        found.append(torch.autograd.grad(loss.sum(), embeddings)[0].double())
    torch.testing.assert_close(*found, rtol=4 * torch.finfo(dtype).eps, atol=1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("by", ["inputs", "autocast"])
def test_gradients_in_low_precision_come_near_those_in_float64(dtype, by):
    generator = torch.Generator().manual_seed(1)
    low = dtype if by == "inputs" else torch.float32
    context = torch.randn(4096, 16, generator=generator).to(low).requires_grad_()
    embeddings = (torch.randn(40, 16, generator=generator) / 4).to(low).requires_grad_()
    targets = torch.randint(48, (4096,), generator=generator)
    targets = targets.clamp(max=39)  # some sampled, some not
    expected_count = torch.zeros(32)
    exact = [tensor.detach().double().requires_grad_() for tensor in (context, embeddings)]
    reference, _ = sampled_nll(exact[0], targets, exact[1], None, expected_count)
    with torch.autocast("cpu", dtype=dtype, enabled=by == "autocast"):
        loss, _ = sampled_nll(context, targets, embeddings, None, expected_count, chunk_size=128)
    (16 * loss).backward()  # as a loss scale would
    (16 * reference).backward()
    for tensor, of_reference in zip((context, embeddings), exact, strict=True):
        difference = (tensor.grad.double() - of_reference.grad).norm()
        # Scores of a few units are rounded, and probabilities with them.
        assert difference < 2 * torch.finfo(dtype).eps * of_reference.grad.norm()


def test_probabilities_too_small_for_float16_still_reach_the_gradients():
    """Of a sampled class with probability 4e-8, which float16 rounds to 6e-8."""
    context = torch.ones(4, 1, dtype=torch.float16, requires_grad=True)
    embeddings = torch.tensor([[-17.0], [0.0]]).half().requires_grad_()
    targets = torch.ones(4, dtype=torch.long)
    loss, _ = sampled_nll(context, targets, embeddings, None, torch.zeros(1))
    loss.backward(torch.tensor(2.0**20))  # as a loss scale would
    probability = 1 / (1 + math.exp(17))
    assert embeddings.grad[0].item() == pytest.approx(4 * 2.0**20 * probability, rel=1e-2)
    assert embeddings.grad[1].item() == pytest.approx(-4 * 2.0**20 * probability, rel=1e-2)
    expected = [[-17 * 2.0**20 * probability]] * 4
    torch.testing.assert_close(context.grad, torch.tensor(expected).half(), rtol=1e-2, atol=0)


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_no_positions_give_no_loss_and_gradients_of_zero(reduction):
    context, embeddings = torch.randn(0, D), torch.randn(5, D, requires_grad=True)
    none = torch.empty(0, dtype=torch.long)
    loss, nll = sampled_nll(
        context, none, embeddings, None, torch.zeros(5), smoothing=0.1, reduction=reduction
    )
    assert loss.shape == nll.shape == (() if reduction == "sum" else (0,))
    loss.sum().backward()
    assert not embeddings.grad.any()


def test_no_table_of_positions_by_classes_is_ever_made():
    positions, classes = 600, 700
    context = torch.randn(positions, D, requires_grad=True)
    embeddings = torch.randn(classes, D, requires_grad=True)
    targets = torch.randint(classes, (positions,))
    with LargestTensor() as largest:
        loss, _ = sampled_nll(
            context, targets, embeddings, None, torch.zeros(classes), smoothing=0.1, chunk_size=50
        )
        loss.backward()
    assert largest.elements == 50 * classes


def test_scored_classes_list_the_sample_and_then_the_other_targets():
    sampled, targets = torch.tensor([3, 5, 9]), torch.tensor([5, 12, 1, 9, 12, 5])
    ids, rows = scored_classes(sampled, targets)
    assert ids.tolist() == [3, 5, 9, 1, 12]
    assert rows.tolist() == [1, 4, 3, 2, 4, 1]
    assert ids[rows].tolist() == targets.tolist()


@pytest.mark.parametrize("num_sampled", [0, 1, 4, 30])
def test_scored_classes_hold_each_class_once_and_map_every_target_back(num_sampled):
    generator = torch.Generator().manual_seed(num_sampled)
    for _ in range(20):
        sampled = torch.randperm(30, generator=generator)[:num_sampled].sort().values
        targets = torch.randint(30, (12,), generator=generator)
        ids, rows = scored_classes(sampled, targets)
        assert ids[:num_sampled].tolist() == sampled.tolist()
        assert sorted(ids.tolist()) == sorted({*sampled.tolist(), *targets.tolist()})
        assert ids[rows].tolist() == targets.tolist()


def test_targets_known_to_be_sampled_are_found_without_looking_for_others():
    sampled, targets = torch.tensor([3, 5, 9]), torch.tensor([5, 9, 3, 5])
    for includes in (True, False):
        ids, rows = scored_classes(sampled, targets, includes)
        assert ids.tolist() == [3, 5, 9]
        assert rows.tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize(
    ("ids", "includes_targets"),
    [([9, 2, 7, 3], False), ([2, 3, 3, 9], False), ([2, 3, 9], True), ([], True)],
)
def test_an_accelerator_fails_where_a_sampler_breaks_its_contract(
    ids, includes_targets, monkeypatch
):
    """It asserts instead of reading values, which would wait; on a CPU this fails at once."""
    monkeypatch.setattr(checks, "_may_read", lambda tensor: False)
    targets = torch.tensor([7, 2, 5])
    sampled = torch.tensor(ids, dtype=torch.int64)
    with pytest.raises(RuntimeError):
        scored_classes(sampled, targets, includes_targets=includes_targets)
    scored_classes(torch.tensor([2, 5, 7, 9]), targets, includes_targets=includes_targets)


@pytest.mark.parametrize("ids", [[1, 3, 2], [1, 2, 2]])
def test_sampled_ids_that_are_not_ascending_and_distinct_are_refused(ids):
    """A binary search would not find the targets among them."""
    with pytest.raises(ValueError, match=r"ids \d, 2 at 1 and 2: must be ascending and distinct"):
        scored_classes(torch.tensor(ids), torch.tensor([2]))


def test_a_negative_sampled_id_is_refused():
    """A table takes it for a class counted from the end."""
    with pytest.raises(ValueError, match="sampled id -1: must be a class, at least 0"):
        scored_classes(torch.tensor([-1, 2]), torch.tensor([2]))


def test_more_expected_counts_than_classes_are_refused():
    rows = torch.zeros(1, dtype=torch.long)
    with pytest.raises(ValueError, match=r"log_expected_count \(4,\): .* of 3 in all"):
        sampled_nll(torch.zeros(1, 2), rows, torch.zeros(3, 2), None, torch.zeros(4))


@pytest.mark.parametrize(
    ("targets", "includes", "message"),
    [
        ([1, -100], False, "target -100: must be a class"),
        ([1, -1], True, "target -1: must be a class"),
        ([3, 4], True, "target 4 is not among the sampled ids"),
        ([3, 9], True, "target 9 is not among the sampled ids"),
    ],
)
def test_targets_that_cannot_be_scored_are_refused(targets, includes, message):
    with pytest.raises(ValueError, match=message):
        scored_classes(torch.tensor([1, 3, 5]), torch.tensor(targets), includes)


@pytest.mark.parametrize("sampled", [[], [3]])
def test_a_target_among_few_sampled_ids_is_refused_if_it_is_none_of_them(sampled):
    ids = torch.tensor(sampled, dtype=torch.long)
    with pytest.raises(ValueError, match="target 2 is not among the sampled ids"):
        scored_classes(ids, torch.tensor([2]), includes_targets=True)
    assert scored_classes(ids, ids, includes_targets=True).ids is ids


@pytest.mark.parametrize("reduction", ["sum", "none"])
@pytest.mark.parametrize("row", [-1, 3])
def test_rows_of_targets_that_are_none_are_refused(row, reduction):
    given = torch.zeros(1, 2), torch.tensor([row]), torch.zeros(3, 2), None, torch.zeros(2)
    with pytest.raises(ValueError, match=f"target {row}: must be a class, .* below 3"):
        sampled_nll(*given, reduction=reduction)


def test_one_value_per_position_compiles():
    context, classes = torch.randn(4, 3, requires_grad=True), torch.randn(6, 3)
    rows = torch.tensor([0, 2, 5, 1])

    def loss(c):
        return sampled_nll(c, rows, classes, None, torch.zeros(4), reduction="none")[0]

    (expected,) = torch.autograd.grad(loss(context).sum(), context)
    (found,) = torch.autograd.grad(torch.compile(loss, backend="aot_eager")(context).sum(), context)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_expected_counts_are_a_list(reduction):
    """A column would correct positions instead of classes."""
    counts = torch.tensor([0.5, -1.0, 2.0])
    with pytest.raises(ValueError, match=r"log_expected_count \(3, 1\): must be \(S,\)"):
        sampled_nll(
            torch.randn(3, 4), torch.tensor([1, 2, 3]), torch.randn(5, 4), None, counts[:, None],
            reduction=reduction,
        )  # fmt: skip


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_without_positions_there_are_gradients_of_zero(reduction):
    context, classes = torch.randn(0, 4, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    targets = torch.zeros(0, dtype=torch.long)
    loss, _ = sampled_nll(context, targets, classes, None, torch.zeros(3), reduction=reduction)
    loss.sum().backward()
    assert torch.equal(classes.grad, torch.zeros(5, 4))


def test_scaling_the_loss_in_place_leaves_the_nll():
    context, targets = torch.randn(3, 4), torch.tensor([1, 2, 3])
    loss, nll = sampled_nll(context, targets, torch.randn(5, 4), None, torch.zeros(3))
    before = nll.item()
    loss /= 3
    assert nll.item() == before


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, math.nan])
def test_an_impossible_smoothing_is_refused(smoothing):
    tensors = torch.randn(3, 4), torch.tensor([1, 2, 3]), torch.randn(5, 4), None
    for loss in (
        lambda: sampled_nll(*tensors, torch.zeros(3), smoothing),
        lambda: smoothing_term(*tensors, smoothing),
        lambda: streamed_nll(*tensors[:2], [ClassBlock(0, *tensors[2:])], smoothing),
    ):
        with pytest.raises(ValueError, match=f"smoothing={smoothing}: must be at least 0 and"):
            loss()


def test_smoothing_over_no_other_class_is_zero():
    tensors = torch.randn(2, 4), torch.zeros(2, dtype=torch.long), torch.randn(1, 4), None
    assert smoothing_term(*tensors, 0.1).tolist() == [0, 0]
    found = streamed_nll(*tensors[:2], [ClassBlock(0, *tensors[2:])], 0.1)
    assert [one.tolist() for one in found] == [[0, 0]] * 2


def test_smoothing_refuses_a_target_that_is_no_class():
    """In bfloat16 it would be counted from the end."""
    context, classes = torch.randn(1, 4).bfloat16(), torch.randn(5, 4).bfloat16()
    with pytest.raises(ValueError, match="target -1: must be a class"):
        smoothing_term(context, torch.tensor([-1]), classes, None, 0.1)


@pytest.mark.parametrize("includes", [False, True])
def test_targets_of_several_sentences_must_be_flattened(includes):
    targets = torch.tensor([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match=r"targets \(2, 2\): must be \(N,\)"):
        scored_classes(torch.arange(5), targets, includes)
    with pytest.raises(ValueError, match=r"targets \(2, 2\): must be \(N,\)"):
        BatchNegativesSampler(9, 5, 1).sample(targets, np.random.default_rng(1))
