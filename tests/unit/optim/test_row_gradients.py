"""What the trainer does to gradients: sparse ones get what their dense equals would."""

import pytest
import torch
import torch.distributed as dist
from fairseq import utils

from fairseq_outlayers.optim import row_gradients
from fairseq_outlayers.tables.rows import lookup_row_sparse
from tests.devices import DEVICES, device_of_kind


@pytest.fixture
def parameters():
    """A table with a gradient that lists row 1 twice, a bias table, a matrix and one unused."""
    torch.manual_seed(1)
    table, bias, matrix, unused = (
        torch.nn.Parameter(torch.zeros(size)) for size in [(4, 2), (4,), (3, 3), (2,)]
    )
    rows = torch.tensor([[1, 3, 1]])
    table.grad = torch.sparse_coo_tensor(rows, torch.randn(3, 2), (4, 2))
    bias.grad = torch.sparse_coo_tensor(rows, torch.randn(3), (4,))
    matrix.grad = torch.randn(3, 3)
    return [table, bias, matrix, unused]


def dense(parameters):
    return [p.grad.to_dense().clone() for p in parameters if p.grad is not None]


@pytest.mark.parametrize("factor", [0.25, torch.tensor(0.25), torch.tensor([0.25])])
def test_gradients_are_multiplied_sparse_or_not(parameters, factor):
    expected = [gradient * 0.25 for gradient in dense(parameters)]
    row_gradients.multiply(parameters, factor)
    assert parameters[0].grad.is_sparse
    for gradient, reference in zip(dense(parameters), expected, strict=True):
        torch.testing.assert_close(gradient, reference, rtol=1e-6, atol=0)


def test_multiplying_one_gradient_leaves_another_that_shares_its_memory(parameters):
    table, other = parameters[0], torch.nn.Parameter(torch.zeros(4, 2))
    other.grad = torch.sparse_coo_tensor(table.grad._indices(), table.grad._values(), (4, 2))
    expected = table.grad.to_dense() * 3
    row_gradients.multiply([table, other], 3.0)
    assert torch.equal(table.grad.to_dense(), expected)
    assert torch.equal(other.grad.to_dense(), expected)


@pytest.mark.parametrize("max_norm", [0.0, 0.5, 1000.0])
def test_clipping_equals_fairseqs_on_the_same_gradients_made_dense(parameters, max_norm):
    references = [torch.nn.Parameter(p.detach().clone()) for p in parameters]
    for reference, parameter in zip(references, parameters, strict=True):
        if parameter.grad is not None:
            reference.grad = parameter.grad.to_dense().clone()  # a dense one would be shared
    expected = utils.clip_grad_norm_(references, max_norm)
    norm = row_gradients.clip_norm(parameters, max_norm)
    torch.testing.assert_close(norm, expected.to(norm.dtype), rtol=1e-6, atol=0)
    for gradient, reference in zip(dense(parameters), dense(references), strict=True):
        torch.testing.assert_close(gradient, reference, rtol=1e-5, atol=0)


def test_a_norm_over_processes_is_what_counts_if_one_is_given(parameters):
    expected = [gradient * 0.5 / 10 for gradient in dense(parameters)]
    norm = row_gradients.clip_norm(parameters, 0.5, lambda own: torch.full_like(own, 10.0))
    assert norm == 10
    for gradient, reference in zip(dense(parameters), expected, strict=True):
        torch.testing.assert_close(gradient, reference, rtol=1e-5, atol=0)


def test_a_norm_in_double_precision_is_not_rounded():
    weight = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    weight.grad = torch.tensor([1.0, 1e-4], dtype=torch.float64)
    assert row_gradients.clip_norm([weight], 0.0).item() == pytest.approx(1 + 5e-9, abs=1e-16)


def test_without_any_gradient_the_norm_is_zero(parameters):
    assert row_gradients.clip_norm(parameters[3:], 1.0) == 0


def test_parameters_are_hidden_for_as_long_as_asked(parameters):
    with row_gradients.hidden(parameters[:1]):
        assert [p.requires_grad for p in parameters] == [False, True, True, True]
    assert all(p.requires_grad for p in parameters)


@pytest.mark.parametrize("kind", DEVICES)
def test_gradients_of_all_tables_are_merged_in_one_wait_as_coalescing_merges_each(kind, parameters):
    expected = [p.grad.coalesce() for p in parameters[:2]]
    with device_of_kind(kind) as device:
        tables = [torch.nn.Parameter(p.detach().to(device.device)) for p in parameters[:2]]
        for table, parameter in zip(tables, parameters[:2], strict=True):
            rows, values = parameter.grad._indices(), parameter.grad._values()
            table.grad = torch.sparse_coo_tensor(
                rows.to(device.device), values.to(device.device), table.shape
            )
        device.forget()
        found = row_gradients.coalesced_values(tables)
        assert sum(device.waits.values()) <= 1
        for numbers, table, reference in zip(found, tables, expected, strict=True):
            assert table.grad.is_coalesced()
            assert table.grad.indices().cpu().tolist() == reference.indices().tolist()
            torch.testing.assert_close(numbers.cpu(), reference.values())


@pytest.mark.parametrize("kind", DEVICES)
def test_every_process_sums_the_rows_of_others_in_the_order_of_processes(kind, monkeypatch):
    """A GPU adds equal rows of one ``index_add_`` in any order: processes would drift apart."""
    own = torch.tensor([[1e8], [3.0]]), [2, 0]
    others = [([2, 1], torch.tensor([[-1e8], [6.0]])), ([2], torch.tensor([[1.0]]))]
    rows_of = [torch.tensor(own[1]), *(torch.tensor(rows) for rows, _ in others)]
    values_of = [own[0] / 3, *(values / 3 for _, values in others)]
    added, add = [], torch.Tensor.index_add_

    def gather(found, mine, group=None):
        if mine.dim() == 1 and len(mine) == 1:  # the numbers of rows, of one table
            parts = [torch.tensor([len(rows)]) for rows in rows_of]
        else:
            parts = rows_of if mine.dim() == 1 else values_of
        for place, part in zip(found, parts, strict=True):
            place[: len(part)] = part.to(place.device)

    def noted(self, dim, index, values, **options):
        added.append(index.tolist())
        return add(self, dim, index, values, **options)

    monkeypatch.setattr(dist, "get_world_size", lambda group: 3)
    monkeypatch.setattr(dist, "all_gather", gather)
    monkeypatch.setattr(torch.Tensor, "index_add_", noted)
    with device_of_kind(kind) as device:
        table = torch.nn.Parameter(torch.zeros(4, 1).to(device.device))
        listed = torch.tensor([own[1]]).to(device.device)
        table.grad = torch.sparse_coo_tensor(listed, own[0].to(device.device), (4, 1))
        row_gradients.average_over_processes([table], None)
        assert table.grad.indices().tolist() == [[0, 1, 2]]
        expected = (values_of[0][0] + values_of[1][0]) + values_of[2][0]
        found = table.grad.values().cpu()
        assert torch.equal(found, torch.stack([values_of[0][1], values_of[1][1], expected]))
    assert added
    assert all(len(rows) == len(set(rows)) for rows in added)


def test_a_row_whose_first_number_is_zero_is_still_a_row():
    """As dropout on embeddings leaves it."""
    table = torch.nn.Parameter(torch.zeros(6, 3))
    row_gradients.merge_each_batch(table)
    values = torch.tensor([[0.0, 0, 0], [0, 0, 5], [0, -1, 0], [2, 0, 0]])
    (lookup_row_sparse(table, torch.tensor([0, 2, 3, 5])) * values).sum().backward()
    gradient = table.grad.coalesce()
    assert gradient.indices().tolist() == [[2, 3, 5]]
    assert torch.equal(gradient.values(), values[1:])


def test_a_dense_gradient_of_a_table_is_averaged_too(monkeypatch):
    """The full softmax makes one."""
    own, other = torch.randn(4, 2), torch.randn(4, 2)
    monkeypatch.setattr(dist, "get_world_size", lambda group: 2)
    monkeypatch.setattr(dist, "all_reduce", lambda found, group=None: found.add_(other / 2))
    table = torch.nn.Parameter(torch.zeros(4, 2))
    table.grad = own.clone()
    row_gradients.average_over_processes([table], None)
    torch.testing.assert_close(table.grad, (own + other) / 2)


def test_a_process_that_used_no_row_of_a_table_takes_those_of_others(monkeypatch):
    rows, values = torch.tensor([2, 0]), torch.tensor([[4.0], [6.0]])
    answers = iter(
        [
            [torch.tensor([0]), torch.tensor([2])],
            [torch.zeros(2, dtype=torch.long), rows],
            [torch.zeros(2, 1), values / 2],
        ]
    )

    def gather(found, mine, group=None):
        for place, part in zip(found, next(answers), strict=True):
            place.copy_(part)

    monkeypatch.setattr(dist, "get_world_size", lambda group: 2)
    monkeypatch.setattr(dist, "all_gather", gather)
    table = torch.nn.Parameter(torch.zeros(4, 1))
    row_gradients.average_over_processes([table], None)
    assert table.grad.to_dense().tolist() == [[3.0], [0.0], [2.0], [0.0]]


def test_a_table_that_no_process_used_is_not_gathered(monkeypatch):
    gathered = []

    def gather(found, mine, group=None):
        gathered.append(mine)
        for place in found:
            place.zero_()

    monkeypatch.setattr(dist, "get_world_size", lambda group: 2)
    monkeypatch.setattr(dist, "all_gather", gather)
    table = torch.nn.Parameter(torch.zeros(4, 1))
    row_gradients.average_over_processes([table], None)
    assert [mine.tolist() for mine in gathered] == [[0]]  # the number of rows
    assert (table.grad.shape, table.grad._nnz()) == ((4, 1), 0)


def test_a_norm_beyond_float16_does_not_clip_to_nothing():
    weight = torch.nn.Parameter(torch.zeros(4, 4, dtype=torch.float16))
    weight.grad = torch.full((4, 4), 3e4, dtype=torch.float16)
    assert row_gradients.clip_norm([weight], 1.0).item() == pytest.approx(1.2e5, rel=1e-3)
    assert weight.grad.float().norm().item() == pytest.approx(1.0, rel=1e-2)
