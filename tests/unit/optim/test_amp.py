"""``lazy_adam`` under ``--amp``: a gradient scaler around row updates, on a CPU."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.optim.amp_optimizer import AMPOptimizer

from fairseq_outlayers.criterions.sampled_softmax import SampledSoftmax
from fairseq_outlayers.optim.lazy_adam import LazyAdam
from fairseq_outlayers.optim.tables import make_row_sparse
from tests.conftest import make_batch, make_model, make_task
from tests.unit.optim.test_lazy_adam import make_config

SCALE = 2.0**12


def make_optimizer(parameters):
    """fairseq's wrapper, with a scaler for CPUs and the optimizer that is to be stepped."""
    common = SimpleNamespace(
        fp16_init_scale=SCALE, amp_init_scale=128, amp_scale_window=None, min_loss_scale=1e-4
    )
    config = SimpleNamespace(common=common, optimizer=make_config())
    wrapper = AMPOptimizer(config, parameters, LazyAdam(config.optimizer, parameters))
    wrapper._grad_scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
    wrapper.scaler.scale(torch.zeros(()))  # the first loss makes the scale
    return wrapper


def step(wrapper, factor=1.0, max_norm=0.0):
    """What the trainer does after the backward pass. The scaler gets the optimizer of torch, as
    ``clip_grad_norm`` gave it (docs/footguns.md says what stock fairseq does)."""
    wrapper.multiply_grads(factor)
    norm = wrapper.clip_grad_norm(max_norm)
    wrapper.scaler.step(wrapper.optimizer)
    wrapper.scaler.update()
    return norm


@pytest.fixture
def table_and_matrix():
    torch.manual_seed(1)
    return [torch.nn.Parameter(torch.randn(size)) for size in [(6, 3), (2, 3)]]


def set_gradients(parameters, scale):
    """Rows 1 and 4 of the table, row 1 twice."""
    table, matrix = parameters
    torch.manual_seed(2)
    rows, values = torch.tensor([[1, 4, 1]]), torch.randn(3, 3)
    table.grad = torch.sparse_coo_tensor(rows, scale * values, table.shape)
    matrix.grad = scale * torch.randn(2, 3)


def test_a_scaled_update_equals_an_unscaled_one(table_and_matrix):
    references = [torch.nn.Parameter(p.detach().clone()) for p in table_and_matrix]
    plain, scaled = LazyAdam(make_config(), references), make_optimizer(table_and_matrix)
    for _ in range(3):
        set_gradients(references, 1.0)
        plain.multiply_grads(0.25)
        expected = plain.clip_grad_norm(0.5)
        plain.step()
        set_gradients(table_and_matrix, SCALE)
        torch.testing.assert_close(step(scaled, 0.25, 0.5), expected)
    for parameter, reference in zip(table_and_matrix, references, strict=True):
        torch.testing.assert_close(parameter, reference, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("where", ["table", "matrix"])
def test_an_overflow_changes_no_row_no_moment_and_no_count(table_and_matrix, where):
    wrapper = make_optimizer(table_and_matrix)
    set_gradients(table_and_matrix, SCALE)
    step(wrapper)
    state = wrapper.optimizer.state
    before = [p.detach().clone() for p in table_and_matrix]
    moments = [{name: value.clone() for name, value in state[p].items()} for p in table_and_matrix]
    set_gradients(table_and_matrix, SCALE)
    table, matrix = table_and_matrix
    numbers = table.grad._values() if where == "table" else matrix.grad
    numbers[0, 0] = float("inf")
    step(wrapper)
    assert wrapper.scaler.get_scale() == SCALE / 2
    for parameter, value, saved in zip(table_and_matrix, before, moments, strict=True):
        assert torch.equal(parameter, value)
        assert all(torch.equal(state[parameter][name], old) for name, old in saved.items())


def test_a_sampled_softmax_under_autocast_trains_almost_as_in_float32():
    task = make_task(40, 40)
    batch = make_batch(task, [(4, 5), (1, 3), (6, 2)])
    config = SimpleNamespace(
        sampler="log_uniform", num_sampled=20, sample_share=0.0, no_logq_correction=False,
        correct_targets=False, label_smoothing=0.1, loss_chunk_size=0, sentence_avg=False, seed=1,
    )  # fmt: skip
    losses = {}
    for precision in ("float32", "amp"):
        model = make_model("luong_lstm", task, output_layer="linear").float().train()
        criterion = SampledSoftmax.build_criterion(config, task).train()
        make_row_sparse(model)
        wrapper = make_optimizer(list(model.parameters()))
        losses[precision] = []
        for update in range(8):
            model.set_num_updates(update)
            wrapper.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == "amp"):
                loss, size, _ = criterion(model, batch)
            wrapper.backward(loss)
            step(wrapper, 1 / size, 5.0)
            losses[precision].append(loss.item() / size)
        assert model.decoder.embed_tokens.weight.grad.is_sparse
    assert losses["float32"][-1] < losses["float32"][0] - 0.05
    for one, other in zip(losses["amp"], losses["float32"], strict=True):
        assert abs(one - other) < 2e-2
