"""Row-lazy Adam against the paper's algorithm, written for one row at a time."""

import copy
import math

import pytest
import torch

from fairseq_outlayers.optim import row_adam
from fairseq_outlayers.optim.row_adam import RowAdam

SETTINGS = {"lr": 0.01, "betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": 0.1}
# Rows met by each update; row 5 never is.
ROWS = [[0, 2, 3], [2], [4, 0], [1, 2, 3, 4]]


def make_table(*shape):
    return torch.nn.Parameter(torch.randn(*shape, dtype=torch.float64))


def sparse(rows, values, table):
    return torch.sparse_coo_tensor(torch.tensor([rows]), values, table.shape)


def gradients(table, all_rows=ROWS):
    """A sparse gradient for every update."""
    generator = torch.Generator().manual_seed(1)
    for rows in all_rows:
        shape = (len(rows), *table.shape[1:])
        yield sparse(rows, torch.randn(shape, generator=generator, dtype=table.dtype), table)


def train(table, all_gradients, optimizer=None):
    optimizer = optimizer or RowAdam([table], **SETTINGS)
    for gradient in all_gradients:
        table.grad = gradient
        optimizer.step()
    return optimizer


def adam_of_one_row(row, its_gradients):
    """Kingma & Ba (2015), Algorithm 1, with decoupled weight decay, number by number."""
    beta1, beta2 = SETTINGS["betas"]
    result = []
    for position, number in enumerate(row.flatten().tolist()):
        m = v = 0.0
        for t, gradient in enumerate(its_gradients, start=1):
            g = gradient.flatten()[position].item()
            m = beta1 * m + (1 - beta1) * g
            v = beta2 * v + (1 - beta2) * g * g
            m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
            number -= SETTINGS["lr"] * SETTINGS["weight_decay"] * number
            number -= SETTINGS["lr"] * m_hat / (math.sqrt(v_hat) + SETTINGS["eps"])
        result.append(number)
    return torch.tensor(result, dtype=row.dtype).view_as(row)


@pytest.mark.parametrize("shape", [(6, 3), (6,)], ids=["embeddings", "biases"])
def test_every_row_is_adam_on_the_updates_that_list_it(shape):
    table = make_table(*shape)
    start = table.detach().clone()
    train(table, gradients(table))
    for row in range(6):
        own = [g.to_dense()[row] for r, g in zip(ROWS, gradients(table), strict=True) if row in r]
        expected = adam_of_one_row(start[row], own)
        torch.testing.assert_close(table[row].detach(), expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("shape", [(6, 3), (6,)], ids=["embeddings", "biases"])
def test_updates_of_a_few_rows_at_a_time_change_nothing(shape, monkeypatch):
    at_once = make_table(*shape)
    in_parts = copy.deepcopy(at_once)
    train(at_once, gradients(at_once))
    monkeypatch.setattr(row_adam, "NUMBERS_AT_A_TIME", at_once[0].numel())
    train(in_parts, gradients(in_parts))
    assert torch.equal(in_parts, at_once)


def test_rows_not_listed_stay_bit_for_bit_and_so_do_their_moments():
    table = make_table(6, 3)
    optimizer = train(table, list(gradients(table))[:2])
    before = copy.deepcopy([table.detach(), *optimizer.state[table].values()])
    train(table, [list(gradients(table))[2]], optimizer)
    after = [table.detach(), *optimizer.state[table].values()]
    for old, new in zip(before, after, strict=True):
        for row in range(6):
            assert torch.equal(old[row], new[row]) == (row not in ROWS[2])


def test_lazy_and_dense_adam_agree_where_every_update_lists_all_rows():
    """PyTorch's own AdamW is the reference."""
    table = make_table(6, 3)
    dense = torch.nn.Parameter(table.detach().clone())
    reference = torch.optim.AdamW([dense], **SETTINGS)
    optimizer = RowAdam([table], **SETTINGS)
    for gradient in gradients(table, [[0, 1, 2, 3, 4, 5]] * 7):
        table.grad, dense.grad = gradient, gradient.to_dense()
        optimizer.step()
        reference.step()
    torch.testing.assert_close(table, dense, rtol=1e-13, atol=1e-14)


def test_a_parameter_with_dense_gradients_is_updated_as_by_pytorch():
    weight, other = make_table(4, 3), make_table(4, 3)
    other.data.copy_(weight)
    train(weight, (g.to_dense() for g in gradients(weight, [[0], [1, 2]])))
    reference = torch.optim.AdamW([other], **SETTINGS)
    train(other, (g.to_dense() for g in gradients(other, [[0], [1, 2]])), reference)
    torch.testing.assert_close(weight, other, rtol=1e-13, atol=1e-14)


def test_a_row_first_met_late_moves_by_one_learning_rate_and_not_by_three():
    """Correction by the global number of updates would take the late row for an old one."""
    table = torch.nn.Parameter(torch.zeros(2, 1, dtype=torch.float64))
    optimizer = RowAdam([table], lr=1.0, betas=(0.9, 0.999), eps=1e-12)
    ones = torch.ones(1, 1, dtype=torch.float64)
    train(table, [sparse([0], ones, table)] * 2000, optimizer)
    train(table, [sparse([1], 5 * ones, table)], optimizer)
    assert table[1].item() == pytest.approx(-1, abs=1e-9)
    by_global_count = (1 - 0.9) / (1 - 0.9**2001) / math.sqrt((1 - 0.999) / (1 - 0.999**2001))
    assert by_global_count > 2.9  # times the learning rate


def test_a_row_listed_twice_in_a_gradient_is_updated_once_by_the_sum():
    table = make_table(6, 3)
    other = torch.nn.Parameter(table.detach().clone())
    values = torch.randn(3, 3, dtype=torch.float64)
    summed = torch.stack([values[0] + values[2], values[1]])
    train(table, [sparse([4, 1, 4], values, table)])
    train(other, [sparse([4, 1], summed, other)])
    assert torch.equal(table, other)


@pytest.mark.parametrize("sparse_first", [True, False])
def test_a_table_may_have_dense_gradients_at_times_which_list_every_row(sparse_first):
    table = make_table(3, 2)
    start = table.detach().clone()
    first, second = gradients(table, [[1], [0, 1, 2]])
    some, every = (first, second.to_dense())
    train(table, [some, every] if sparse_first else [every, some])
    for row in range(3):
        own = [every[row]]
        if row == 1:
            own.insert(0 if sparse_first else 1, some.to_dense()[1])
        expected = adam_of_one_row(start[row], own)
        torch.testing.assert_close(table[row].detach(), expected, rtol=1e-13, atol=1e-14)


def test_a_saved_state_continues_bit_for_bit(tmp_path):
    table, weight = make_table(6, 3), make_table(2, 2)
    optimizer = RowAdam([table, weight], **SETTINGS)

    def train_on(optimizer, table, weight, part):
        for gradient in list(gradients(table))[part]:
            table.grad, weight.grad = gradient, torch.ones_like(weight)
            optimizer.step()

    train_on(optimizer, table, weight, slice(0, 2))
    torch.save([optimizer.state_dict(), table, weight], tmp_path / "state.pt")
    train_on(optimizer, table, weight, slice(2, 4))
    state, *resumed = torch.load(tmp_path / "state.pt", weights_only=True)
    other = RowAdam(resumed, **SETTINGS)
    other.load_state_dict(state)
    train_on(other, *resumed, slice(2, 4))
    assert torch.equal(resumed[0], table)
    assert torch.equal(resumed[1], weight)


@pytest.mark.parametrize("sparse", [False, True])
def test_an_update_is_a_change_that_pytorch_counts(sparse):
    """PyTorch's fused optimizers do not count theirs; whatever is cached by version went stale."""
    table = torch.nn.Parameter(torch.ones(3, 2))
    optimizer, before = RowAdam([table], lr=0.1), table._version
    gradient = torch.ones(3, 2)
    table.grad = gradient.to_sparse(1) if sparse else gradient
    optimizer.step()
    assert table._version > before
    frozen = torch.nn.Parameter(torch.ones(1))
    before = frozen._version
    RowAdam([frozen]).step()
    assert frozen._version == before


def test_bias_correction_is_computed_in_more_than_float32():
    """One minus 0.999 has lost four digits in float32."""
    table = torch.nn.Parameter(torch.zeros(1, 1))
    optimizer = RowAdam([table], lr=1.0, betas=(0.9, 0.999), eps=0.0)
    train(table, [sparse([0], torch.ones(1, 1), table)], optimizer)
    assert table.item() == pytest.approx(-1, abs=1e-6)


def test_hooks_of_a_step_run_once_though_pytorch_wraps_that_of_adamw():
    torch.optim.AdamW([torch.zeros(1, requires_grad=True)])  # from now on its step has hooks
    dense = torch.nn.Parameter(torch.ones(3))
    table = make_table(6, 3)
    optimizer = RowAdam([dense, table], **SETTINGS)
    before, seen = table.detach().clone(), []
    optimizer.register_step_pre_hook(lambda *_: seen.append(table.grad.is_sparse))
    optimizer.register_step_post_hook(lambda *_: seen.append(not table.equal(before)))
    dense.grad = torch.ones(3)
    train(table, list(gradients(table))[:1], optimizer)
    assert seen == [True, True]
    assert (dense != 1).all()


def test_every_group_has_its_own_rate_and_decay():
    tables = [make_table(6, 3) for _ in range(2)]
    dense = [torch.nn.Parameter(table.detach().clone()) for table in tables]
    settings = [{"lr": 0.01, "weight_decay": 0.1}, {"lr": 0.3, "weight_decay": 0.0}]

    def groups(parameters):
        return [{"params": [p], **s} for p, s in zip(parameters, settings, strict=True)]

    optimizer, reference = RowAdam(groups(tables)), torch.optim.AdamW(groups(dense))
    for gradient in gradients(tables[0], [[0, 1, 2, 3, 4, 5]] * 3):
        for table, other in zip(tables, dense, strict=True):
            table.grad, other.grad = gradient.clone(), gradient.to_dense()
        optimizer.step()
        reference.step()
    for table, other in zip(tables, dense, strict=True):
        torch.testing.assert_close(table, other, rtol=1e-12, atol=1e-13)


def test_the_defaults_are_those_of_pytorchs_adam():
    ours, adam = (kind([make_table(2, 2)]).defaults for kind in (RowAdam, torch.optim.Adam))
    for name in ("lr", "betas", "eps", "weight_decay"):
        assert ours[name] == adam[name]


def test_a_closure_computes_gradients_and_its_loss_is_returned():
    table = make_table(6, 3)
    before = table.detach().clone()

    def closure():
        loss = table.square().sum()
        loss.backward()
        return loss

    assert RowAdam([table], lr=0.1).step(closure) == before.square().sum()
    assert (table != before).all()


def test_updates_of_a_row_are_counted_in_float32_whatever_the_default():
    """In bfloat16, 256 + 1 is 256."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        table = torch.nn.Parameter(torch.ones(3, 2))
        optimizer = train(table, [sparse([1], torch.ones(1, 2), table)] * 300)
        assert optimizer.state[table]["step"].tolist() == [0, 300, 0]
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("name", ["maximize", "amsgrad"])
def test_options_that_updates_of_rows_do_not_have_are_refused(name):
    with pytest.raises(ValueError, match=f"{name}: RowAdam does not support it"):
        RowAdam([{"params": [make_table(2, 2)], name: True}])
    saved = torch.optim.AdamW([make_table(2, 2)], **{name: True}).state_dict()
    with pytest.raises(ValueError, match=f"{name}: RowAdam does not support it"):
        RowAdam([make_table(2, 2)]).load_state_dict(saved)
