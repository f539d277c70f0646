"""What only a GPU can show: low precision, NCCL, compilation, memory. Skipped elsewhere.

Low precision (bfloat16) and compilation are tested on a CPU as well.
"""

import pytest
import torch
import torch.distributed as dist

from fairseq_outlayers.layers.recurrent import left_padded_gru
from fairseq_outlayers.layers.recurrent.fused_lstm import fused_lstm
from fairseq_outlayers.losses import full, full_nll, gradient_products, sampled_nll
from fairseq_outlayers.losses.full_kernel import SummedFullNLL
from fairseq_outlayers.losses.sampled_kernel import SummedNLL
from fairseq_outlayers.optim import row_gradients
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TRANSLATION_ARCHITECTURES,
    pytest_collection_modifyitems,
)
from tests.devices import to_device
from tests.devices.training import SAMPLING, Case, build

ARCHITECTURES = [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES]
WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
CRITERIONS = {"full_softmax": {}, "sampled_softmax": SAMPLING}
gpu = pytest.mark.gpu
ON_CPU = [("cpu", "amp", torch.bfloat16), ("cpu", "weights", torch.bfloat16)]
ON_GPU = [
    ("cuda", way, dtype) for way in ("amp", "weights") for dtype in (torch.bfloat16, torch.float16)
]
PRECISIONS = ON_CPU + [pytest.param(*precision, marks=gpu) for precision in ON_GPU]


@pytest.mark.parametrize("available", [False, True])
def test_tests_for_a_gpu_are_skipped_where_there_is_none(request, monkeypatch, available):
    def for_a_cpu():
        pass

    @gpu
    def for_a_gpu():
        pass

    items = [
        pytest.Function.from_parent(request.node.parent, name=test.__name__, callobj=test)
        for test in (for_a_cpu, for_a_gpu)
    ]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    pytest_collection_modifyitems(items)
    skipped = [item.name for item in items if item.get_closest_marker("skip")]
    assert skipped == ([] if available else ["for_a_gpu"])


def loss_and_gradients(case, device, way=None, dtype=torch.float32):
    """A batch's loss and gradients, in float32 on the CPU whatever they were computed in."""
    model, criterion, batch = build(case)
    model, batch = model.to(device), to_device(batch, device)
    if way == "weights":
        model = model.to(dtype)
    with torch.autocast(device, dtype, enabled=way == "amp"):
        loss, _, _ = criterion(model, batch)
    scale = 128.0 if dtype == torch.float16 else 1.0
    (scale * loss).backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return loss.item(), {n: g.float().cpu() / scale for n, g in gradients.items()}


@pytest.mark.parametrize(("device", "way", "dtype"), PRECISIONS)
@pytest.mark.parametrize("criterion", CRITERIONS)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_low_precision_comes_near_float32(arch, criterion, device, way, dtype):
    case = Case(arch, criterion, criterion_options=CRITERIONS[criterion])
    reference, expected = loss_and_gradients(case, "cpu")
    loss, gradients = loss_and_gradients(case, device, way, dtype)
    assert loss == pytest.approx(reference, rel=2e-2)
    assert gradients.keys() == expected.keys()
    joint = [torch.cat([g.flatten() for g in which.values()]) for which in (gradients, expected)]
    assert joint[0].isfinite().all()
    assert torch.cosine_similarity(*joint, dim=0) > 0.98


@gpu
def test_row_gradients_are_averaged_over_nccl(tmp_path):
    dist.init_process_group("nccl", f"file://{tmp_path}/store", world_size=1, rank=0)
    try:
        table = torch.nn.Parameter(torch.zeros(6, 3, device="cuda"))
        rows = torch.tensor([[1, 4, 1]], device="cuda")
        table.grad = torch.sparse_coo_tensor(rows, torch.ones(3, 3, device="cuda"), (6, 3))
        row_gradients.average_over_processes([table], dist.group.WORLD)
        assert table.grad.indices().tolist() == [[1, 4]]
        assert table.grad.values().tolist() == [[2.0] * 3, [1.0] * 3]
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize(
    ("device", "backend"), [("cpu", "aot_eager"), pytest.param("cuda", "inductor", marks=gpu)]
)
@pytest.mark.parametrize("name", ["full", "sampled"])
def test_losses_in_a_compiled_function_are_not_traced(name, device, backend, monkeypatch):
    """On a CPU they may be; there the test makes them be treated like those on a GPU."""
    monkeypatch.setattr(full, "_has_linear_cross_entropy", False)
    monkeypatch.setattr(gradient_products, "_is_traced_wrongly", lambda arguments: True)
    traced = []
    for kernel in (SummedFullNLL, SummedNLL):
        forward = kernel.forward

        def spy(ctx, *arguments, forward=forward):
            traced.append(torch.compiler.is_compiling())
            return forward(ctx, *arguments)

        monkeypatch.setattr(kernel, "forward", staticmethod(spy))
    torch.manual_seed(1)
    tensors = [
        torch.randn(size, device=device, requires_grad=True) for size in [(64, 16), (50, 16)]
    ]
    targets = torch.randint(50, (64,), device=device)

    def loss(context, embeddings):
        context, embeddings = context.tanh(), embeddings.tanh()
        if name == "full":
            return full_nll(context, targets, embeddings)
        return sampled_nll(context, targets, embeddings, None, torch.zeros(30, device=device))[0]

    copies = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    expected, found = loss(*tensors), torch.compile(loss, backend=backend)(*copies)
    assert traced == [False, False]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    expected.backward(), found.backward()
    for tensor, reference in zip(copies, tensors, strict=True):
        torch.testing.assert_close(tensor.grad, reference.grad, rtol=1e-4, atol=1e-4)


def run_lstm(layer, inputs):
    weights = [getattr(layer, f"{name}_l0") for name in WEIGHTS]
    start = inputs.new_zeros(1, inputs.size(1), layer.hidden_size)
    return fused_lstm(inputs, (start, start), weights, training=True)[0]


def run_gru(layer, inputs):
    mask = torch.zeros(inputs.shape[1::-1], dtype=torch.bool, device=inputs.device)
    return left_padded_gru._run(layer, inputs.transpose(0, 1), mask)


@gpu
@pytest.mark.parametrize(("kind", "run"), [(torch.nn.LSTM, run_lstm), (torch.nn.GRU, run_gru)])
def test_small_gradients_under_bfloat16_autocast_do_not_underflow(kind, run):
    """PyTorch computes recurrent layers in float16 there, whose smallest number is 6e-8."""
    torch.manual_seed(1)
    layer, inputs = kind(16, 16).cuda(), torch.randn(5, 3, 16, device="cuda")
    gradients = []
    for low in (False, True):
        layer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=low):
            states = run(layer, inputs)
        assert states.dtype == (torch.bfloat16 if low else torch.float32)
        (1e-9 * states.float().sum()).backward()
        gradients.append(torch.cat([weight.grad.flatten() for weight in layer.parameters()]))
    assert torch.cosine_similarity(*(1e9 * each for each in gradients), dim=0) > 0.99


@gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_scores_of_half_a_million_classes_take_less_than_a_gigabyte(dtype):
    torch.cuda.empty_cache()
    context = torch.randn(4096, 64, device="cuda", dtype=dtype, requires_grad=True)
    embeddings = torch.randn(500_000, 64, device="cuda", dtype=dtype, requires_grad=True)
    targets = torch.randint(500_000, (4096,), device="cuda")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    full_nll(context, targets, embeddings).backward()
    gradients = 2 * 4 * embeddings.numel()  # a sum in float32, and what becomes of it
    assert torch.cuda.max_memory_allocated() - before - gradients < 2**30


@gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["full", "sampled"])
def test_losses_over_several_blocks_of_the_kernel_equal_the_cpus(name, dtype):
    """Chunks of 7 positions, whose targets are not aligned."""
    generator = torch.Generator().manual_seed(1)
    sizes = (50, 16), (9001, 16), (9001,)
    given = [(torch.randn(size, generator=generator) / 2).to(dtype) for size in sizes]
    targets = torch.randint(9001, (50,), generator=generator)

    def run(device, kind):
        context, *classes = (each.to(device, kind).requires_grad_() for each in given)
        if name == "full":
            loss = full_nll(context, targets.to(device), *classes, chunk_size=7)
        else:
            counts = torch.zeros(8500, device=device)
            loss, _ = sampled_nll(context, targets.to(device), *classes, counts, chunk_size=7)
        return [loss.detach(), *torch.autograd.grad(loss, [context, *classes])]

    limit = max(1e-5, 4 * torch.finfo(dtype).eps)
    for found, expected in zip(run("cuda", dtype), run("cpu", torch.float64), strict=True):
        assert (found.double().cpu() - expected).norm() < limit * expected.norm()
