"""Softmax of rows in place against the equation in float64, on the CPU and in one kernel."""

import math

import pytest
import torch

from fairseq_outlayers.losses import softmax_rows
from fairseq_outlayers.losses.gradient_products import add_product
from fairseq_outlayers.losses.softmax_rows import bytes_of_score, is_fused, softmax_

CUDA = pytest.param("cuda", marks=pytest.mark.gpu)
TOLERANCES = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 2**-8}


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("size", [(3, 1), (5, 128), (4, 4096), (6, 9001)])
@pytest.mark.parametrize("given", ["", "offset", "extra", "excluded", "offset extra excluded"])
def test_normalizers_and_probabilities_are_those_of_the_equation(given, size, dtype, device):
    generator = torch.Generator().manual_seed(1)
    scores = (5 * torch.randn(size, generator=generator)).to(dtype)
    wide = torch.promote_types(dtype, torch.float32)
    more = {
        "offset": 5 * torch.randn(size[1], dtype=wide, generator=generator),
        "extra": 5 * torch.randn(size[0], dtype=wide, generator=generator),
        "excluded": torch.randint(size[1] + 3, size[:1], generator=generator),
    }
    if "extra" not in given:
        more["excluded"].clamp_(min=1)  # otherwise a row of one class has none
    more = {name: value for name, value in more.items() if name in given}
    exact = scores.double() + more.get("offset", torch.zeros(())).double()
    for row, column in enumerate(more.get("excluded", [])):
        if column < size[1]:
            exact[row, column] = float("-inf")
    beside = more["extra"].double() if "extra" in more else torch.full(size[:1], float("-inf"))
    normalizer = torch.logaddexp(exact.logsumexp(1), beside.double())

    on_device = {name: value.to(device) for name, value in more.items()}
    alone, none = softmax_(scores.to(device).clone(), **on_device, wants_probabilities=False)
    found, probabilities = softmax_(scores.to(device).clone(), **on_device)

    tolerance = max(TOLERANCES[wide], TOLERANCES[torch.float32] if device == "cuda" else 0)
    close = {"rtol": tolerance, "atol": tolerance}
    assert none is None
    torch.testing.assert_close(found.double().cpu(), normalizer, **close)
    torch.testing.assert_close(alone, found)
    rounded = TOLERANCES[probabilities.dtype]
    expected = (exact - normalizer.unsqueeze(1)).exp()
    torch.testing.assert_close(probabilities.double().cpu(), expected, rtol=4 * rounded, atol=1e-7)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_gpu_needs_one_kernel_and_no_other_memory(dtype):
    assert is_fused(torch.device("cuda"), dtype, 4096)
    assert bytes_of_score(torch.device("cuda"), dtype, 4096) == dtype.itemsize
    assert not is_fused(torch.device("cuda"), dtype, 2**20 + 1)
    scores = torch.randn(512, 4096, device="cuda", dtype=dtype)
    softmax_(scores.clone())  # compiles
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    _, probabilities = softmax_(scores)
    assert probabilities.data_ptr() == scores.data_ptr()
    assert torch.cuda.max_memory_allocated() - before < 2**16


@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_half_precision_products_are_added_in_float32(device):
    """A sum in bfloat16 would stop growing at 256."""
    ones = torch.ones(8, 16, dtype=torch.bfloat16, device=device)
    total = torch.full((16, 16), 1 / 256, device=device)
    for _ in range(64):
        add_product(total, ones, ones, None)
    assert (total == 512 + 1 / 256).all()


def test_where_triton_cannot_compile_pytorch_computes_and_says_so(monkeypatch, caplog):
    """It needs a C compiler when the first kernel is launched."""

    def fails(*arguments):
        raise RuntimeError("Failed to find C compiler. Please specify via CC.")

    monkeypatch.setattr(softmax_rows.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(softmax_rows, "_fused", fails)
    works = softmax_rows._kernel_works.__wrapped__
    assert not works(torch.device("cpu"), torch.float32)
    assert "Failed to find C compiler" in caplog.text
    monkeypatch.setattr(softmax_rows, "_fused", lambda *arguments: None)
    assert works(torch.device("cpu"), torch.float32)


def test_a_lack_of_memory_is_not_taken_for_a_lack_of_triton(monkeypatch):
    def fails(*arguments):
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(softmax_rows.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(softmax_rows, "_fused", fails)
    with pytest.raises(torch.OutOfMemoryError):
        softmax_rows._kernel_works.__wrapped__(torch.device("cpu"), torch.float32)


def test_an_offset_of_another_type_is_added_in_it():
    scores = torch.tensor([[1.0, 2.0]])
    normalizer, _ = softmax_(scores, offset=torch.tensor([1e-9, 0.0], dtype=torch.float64))
    assert normalizer.dtype == torch.float64


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_rows_of_a_wider_matrix_and_scores_that_are_not_finite(dtype, extra, device):
    inf, nan = float("inf"), float("nan")
    rows = [[1, 2, 3], [inf, 1, 2], [-inf, 1, -inf], [nan, 1, 2], [-inf, -inf, -inf]]
    wide = torch.full((5, 8), 9.0, dtype=dtype)
    wide[:, :3] = torch.tensor(rows)
    beside = torch.full((5,), -inf, dtype=torch.promote_types(dtype, torch.float32))
    expected = wide[:, :3].double().logsumexp(1)
    wide = wide.to(device)
    found, shares = softmax_(wide[:, :3], extra=beside.to(device) if extra else None)
    torch.testing.assert_close(found.double().cpu(), expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert shares[2].tolist() == [0, 1, 0]
    assert shares[3:].isnan().all()
    assert (wide[:, 3:] == 9).all()


@pytest.mark.gpu
def test_rows_may_begin_beyond_two_to_the_31_scores():
    scores = torch.zeros(2**11 + 2, 2**20, dtype=torch.bfloat16, device="cuda")  # 4.3 GB
    scores[-1, 5] = 20.0
    normalizer, shares = softmax_(scores)
    expected = math.log(math.exp(20) + 2**20 - 1)
    assert normalizer[-1].item() == pytest.approx(expected, rel=1e-5)
    assert normalizer[0].item() == pytest.approx(20 * math.log(2), rel=1e-5)
    assert shares[-1, 5].item() > 0.99
