"""The loss over classes in blocks, against one softmax over all of them in float64."""

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_outlayers.losses import ClassBlock, streamed_nll

N, V, D = 6, 11, 4
PAD = 1
BLOCKS = [[V], [4, 4, 3], [1] * V, [1, 10]]


@pytest.fixture
def scored():
    generator = torch.Generator().manual_seed(0)
    context, embeddings, bias = (
        torch.randn(*shape, generator=generator, dtype=torch.float64)
        for shape in ((N, D), (V, D), (V,))
    )
    return context, torch.tensor([0, 2, 3, 4, V - 1, 7]), embeddings, bias


def blocks_of(sizes, embeddings, bias):
    first = 0
    for size in sizes:
        part = slice(first, first + size)
        yield ClassBlock(first, embeddings[part], None if bias is None else bias[part])
        first += size


def scores_of(context, embeddings, bias):
    scores = torch.einsum("nd,kd->nk", context, embeddings)
    return scores if bias is None else scores + bias


def naive(scores, targets, smoothing=0.0, ignored=None):
    """``(N,)`` losses and NLLs, class by class."""
    losses, nlls = [], []
    for row, target in zip(scores, targets.tolist(), strict=True):
        log_probabilities = row - row.max() - (row - row.max()).exp().sum().log()
        others = [k for k in range(len(row)) if k not in (target, ignored)]
        nlls.append(-log_probabilities[target])
        wrong = -sum(log_probabilities[k] for k in others) / len(others)
        losses.append((1 - smoothing) * nlls[-1] + smoothing * wrong)
    return torch.stack(losses), torch.stack(nlls)


@pytest.mark.parametrize("sizes", BLOCKS, ids=str)
@pytest.mark.parametrize("chunk_size", [0, 1, 4, N])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize(("smoothing", "ignored"), [(0.0, None), (0.1, None), (0.1, PAD)])
def test_blocks_give_the_loss_of_one_softmax(
    scored, sizes, chunk_size, with_bias, smoothing, ignored
):
    context, targets, embeddings, bias = scored
    bias = bias if with_bias else None
    blocks = blocks_of(sizes, embeddings, bias)
    found = streamed_nll(context, targets, blocks, smoothing, ignored, chunk_size)
    expected = naive(scores_of(context, embeddings, bias), targets, smoothing, ignored)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


class Scores(TorchDispatchMode):
    """Notes the scores of classes with biases, and sums over classes."""

    def __init__(self):
        super().__init__()
        self.positions, self.sums, self.storages = set(), 0, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function is torch.ops.aten.addmm.default:
            self.positions.add(len(result))
            self.storages.append(StorageWeakRef(result.untyped_storage()))
        self.sums += function is torch.ops.aten.sum.dim_IntList
        return result

    def alive(self):
        return sum(not storage.expired() for storage in self.storages)


@pytest.mark.parametrize("chunk_size", [2, N])
@pytest.mark.parametrize(("smoothing", "ignored"), [(0.0, None), (0.0, PAD), (0.1, PAD)])
def test_scores_of_one_chunk_exist_at_a_time(scored, chunk_size, smoothing, ignored):
    context, targets, embeddings, bias = scored

    def blocks():
        for block in blocks_of([4, 4, 3], embeddings, bias):
            assert watch.alive() == 0
            yield block
        assert watch.alive() == 0

    with Scores() as watch:
        streamed_nll(context, targets, blocks(), smoothing, ignored, chunk_size)
    assert watch.positions == {chunk_size}
    assert (watch.sums > 0) == (smoothing > 0)


def test_blocks_may_come_in_any_order(scored):
    context, targets, embeddings, bias = scored
    blocks = list(blocks_of([4, 4, 3], embeddings, bias))
    found = streamed_nll(context, targets, reversed(blocks), 0.1, PAD)
    expected = naive(scores_of(context, embeddings, bias), targets, 0.1, PAD)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_large_scores_do_not_overflow(scored):
    context, targets, embeddings, bias = scored
    found = streamed_nll(context, targets, blocks_of([4, 4, 3], embeddings, bias + 1e4))
    expected = naive(scores_of(context, embeddings, bias), targets)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("by", ["inputs", "autocast"])
def test_low_precision_gives_losses_in_float32(scored, by):
    tensors = [tensor.bfloat16() for tensor in scored if tensor.is_floating_point()]
    context, embeddings, bias = tensors if by == "inputs" else [t.float() for t in tensors]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=by == "autocast"):
        found = streamed_nll(context, scored[1], blocks_of([4, 4, 3], embeddings, bias), 0.1)
    scores = torch.nn.functional.linear(*tensors)  # in bfloat16
    expected = naive(scores.double(), scored[1], 0.1)
    assert found[0].dtype == found[1].dtype == torch.float32
    torch.testing.assert_close([each.double() for each in found], list(expected), rtol=1e-6, atol=0)


def test_no_positions_give_no_losses(scored):
    context, targets, embeddings, bias = scored
    blocks = blocks_of([4, 4, 3], embeddings, bias)
    loss, nll = streamed_nll(context[:0], targets[:0], blocks, 0.1)
    assert loss.shape == nll.shape == (0,)


@pytest.mark.parametrize("target", [-100, V])
def test_a_target_that_is_no_class_is_refused(scored, target):
    context, targets, embeddings, bias = scored
    targets[2] = target
    with pytest.raises(ValueError, match=f"target {target}: must be a class"):
        streamed_nll(context, targets, blocks_of([4, 7], embeddings, bias))


def test_an_empty_block_changes_nothing(scored):
    context, targets, embeddings, bias = scored
    first, second, third = blocks_of([4, 0, 7], embeddings, bias)
    loss, nll = streamed_nll(context, targets, [first, second, third], smoothing=0.1)
    expected = streamed_nll(context, targets, blocks_of([V], embeddings, bias), smoothing=0.1)
    torch.testing.assert_close((loss, nll), expected)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ((1, 2), "begins with class 4, those before end before class 0"),
        ((2, 0), "begins with class 8, those before end before class 4"),
        ((0, 1, 1, 2), "begins with class 4, those before end before class 8"),
        ((0, 0, 2), "begins with class 0, those before end before class 4"),  # 11 in all
    ],
)
def test_a_class_in_no_block_or_in_two_is_refused(scored, chosen, said):
    context, targets, embeddings, bias = scored
    blocks = list(blocks_of([4, 4, 3], embeddings, bias))
    with pytest.raises(ValueError, match=f"a block {said}: each class must be in one block"):
        streamed_nll(context, targets, [blocks[k] for k in chosen], smoothing=0.1)


@pytest.mark.parametrize("ignored", [-100, -1, V])
def test_an_ignored_class_that_is_none_is_refused(scored, ignored):
    context, targets, embeddings, bias = scored
    with pytest.raises(ValueError, match=f"ignore_index={ignored}: must be a class, .* below {V},"):
        streamed_nll(context, targets, blocks_of([4, 7], embeddings, bias), 0.1, ignored)


def test_sizes_that_do_not_fit_are_refused(scored):
    context, targets, embeddings, bias = scored
    with pytest.raises(ValueError, match=r"class bias \(11, 1\): must be"):
        streamed_nll(context, targets, [ClassBlock(0, embeddings, bias[:, None])])


def test_loss_and_nll_are_two_tensors(scored):
    context, targets, embeddings, bias = scored
    embeddings = embeddings.clone().requires_grad_()
    loss, nll = streamed_nll(context, targets, blocks_of([V], embeddings, bias))
    assert not loss.requires_grad  # no chunk's scores are kept
    loss.zero_()
    assert nll.all()
