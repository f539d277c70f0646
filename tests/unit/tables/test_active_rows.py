"""Rows in a small parameter against the whole table under the same optimizer."""

import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.tables.active_rows import ActiveRows
from fairseq_outlayers.tables.table import TableOwner, table_of

V, D, MOST = 12, 3, 6
OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam([p], lr=0.1),
    "adadelta": lambda p: torch.optim.Adadelta([p], lr=1.0, rho=0.95),
    "adagrad": lambda p: torch.optim.Adagrad([p], lr=0.1, initial_accumulator_value=0.5),
    "momentum": lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.9),
}
STEPS = [[0, 1, 2, 5], [0, 1, 2, 5], [0, 3, 4, 5, 8, 11], [0, 1, 2, 5], [0, 7]]


def start(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def gradient(step, table):
    """Of a made-up loss, for every row of the whole table."""
    return torch.sin(table.detach() + step)


def whole_table(make_optimizer, shape):
    """The reference: the whole table is updated, then all rows not in use are put back."""
    table = nn.Parameter(start(*shape))
    optimizer = make_optimizer(table)
    for step, ids in enumerate(STEPS):
        others = torch.tensor(sorted(set(range(V)) - set(ids)))
        before = table.detach()[others].clone()
        kept = {k: s[others].clone() for k, s in optimizer.state[table].items() if s.dim() > 0}
        table.grad = torch.zeros_like(table).index_copy(
            0, torch.tensor(ids), gradient(step, table)[ids]
        )
        optimizer.step()
        with torch.no_grad():
            table[others] = before
            for key, state in optimizer.state[table].items():
                if state.dim() > 0:
                    state[others] = kept.get(key, torch.zeros_like(before))
    return table.detach(), {k: s for k, s in optimizer.state[table].items() if s.dim() > 0}


def make_table(*shape):
    owner = TableOwner()
    owner.register_table("weight", nn.Parameter(start(*shape)))
    return table_of(owner)


def move_to_meta(table):
    """What ``model.to(device)`` may do: another parameter under the same name."""
    table._owner.weight = nn.Parameter(table.parameter.detach().to("meta"))


def in_training(device=None):
    """Rows after an update which the table has not got yet, and the table as it should be."""
    rows = ActiveRows(make_table(V, D), MOST, device)
    rows.activate(torch.tensor(STEPS[0]), None)
    rows.parameter.data[: len(STEPS[0])] += 1
    expected = start(V, D)
    expected[STEPS[0]] += 1
    return rows, expected


def by_rows(make_optimizer, shape):
    rows = ActiveRows(make_table(*shape), MOST)
    parameter = rows.parameter
    optimizer = make_optimizer(parameter)
    for step, ids in enumerate(STEPS):
        rows.activate(torch.tensor(ids), optimizer)
        parameter.grad = torch.zeros_like(parameter)
        parameter.grad[: len(ids)] = gradient(step, rows.view.rows())
        optimizer.step()
        parameter.grad = None
    rows.write_back(optimizer)
    return rows, optimizer


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("shape", [(V, D), (V,)])
def test_rows_and_moments_are_as_if_the_other_rows_had_stood_still(name, shape):
    table, moments = whole_table(OPTIMIZERS[name], shape)
    rows, _ = by_rows(OPTIMIZERS[name], shape)
    assert rows.parameter.shape == (MOST, *shape[1:])
    torch.testing.assert_close(rows.table, table, rtol=1e-12, atol=1e-12)
    assert set(rows.moments) == set(moments)
    for key, expected in moments.items():
        torch.testing.assert_close(rows.moments[key], expected, rtol=1e-12, atol=1e-12)


def test_rows_never_in_use_stay_as_they_are_bit_for_bit():
    rows, _ = by_rows(OPTIMIZERS["adam"], (V, D))
    never = sorted(set(range(V)) - set().union(*STEPS))
    assert never
    assert torch.equal(rows.table[never], start(V, D)[never])
    assert not torch.equal(rows.table[[3]], start(V, D)[[3]])


def test_the_whole_table_is_shown_up_to_date_and_hidden_again():
    rows, optimizer = by_rows(OPTIMIZERS["adam"], (V, D))
    in_use = rows.view.rows().detach().clone()
    rows.show_whole(optimizer)
    assert torch.equal(rows.view.rows(), rows.table)
    assert torch.equal(rows.parameter[STEPS[-1]], in_use)
    rows.end_evaluation()
    assert torch.equal(rows.view.rows(), in_use)


def test_the_whole_table_has_the_updates_of_the_rows_in_use():
    rows, expected = in_training()
    assert rows.begin_evaluation(torch.tensor([2]), None)
    assert rows.is_evaluating
    assert torch.equal(rows.view.rows(), expected)
    rows.end_evaluation()
    assert not rows.is_evaluating
    rows.parameter.data[0] += 1
    rows.begin_evaluation(torch.tensor([2]), None)
    expected[STEPS[0][0]] += 1
    assert torch.equal(rows.view.rows(), expected)


@pytest.mark.parametrize("whole_first", [False, True])
def test_a_table_elsewhere_gives_the_rows_of_a_batch_and_any_other_by_id(whole_first):
    rows, expected = in_training(torch.device("cpu"))
    if whole_first:
        rows.show_whole(None)
    assert not rows.begin_evaluation(torch.tensor([7, 1]), None)
    assert torch.equal(rows.parameter[:2], expected[[7, 1]])
    assert rows.view.block_size == MOST
    ids = torch.tensor([[11, 0], [5, 5]])
    assert torch.equal(rows.view.rows(ids), expected[ids])
    # Rows of a batch of validation are not those in training: nothing is put back from them.
    rows.parameter.data.zero_()
    rows.activate(torch.tensor([3]), None)
    assert torch.equal(rows.table, expected)


@pytest.mark.parametrize("number", [1, MOST, MOST + 1, V])
def test_any_number_of_rows_is_evaluated_and_those_in_training_return(number):
    rows, expected = in_training(torch.device("cpu"))
    training = rows.view.rows().detach().clone()
    for ids in (torch.arange(V)[:number], torch.arange(V).flip(0)[:number]):
        assert not rows.begin_evaluation(ids, None)
        assert rows.is_evaluating
        assert torch.equal(rows.parameter, expected[ids])
    rows.end_evaluation()
    assert not rows.is_evaluating
    assert rows.parameter.shape == (MOST, D)
    assert torch.equal(rows.view.rows(), training)
    assert rows.view.block_size is None
    rows.parameter.data[0] += 1
    rows.write_back(None)
    expected[STEPS[0][0]] += 1
    assert torch.equal(rows.table, expected)


def test_other_rows_after_the_whole_table_leave_the_table_as_it_was():
    rows, expected = in_training()
    rows.show_whole(None)
    rows.activate(torch.tensor([3, 4]), None)
    assert torch.equal(rows.view.rows(), expected[[3, 4]])
    rows.parameter.data.fill_(9.0)
    assert torch.equal(rows.table, expected)


def test_rows_beyond_those_in_use_are_zero():
    rows, _ = in_training()
    rows.activate(torch.tensor([3]), None)
    assert rows.parameter.shape == (MOST, D)
    assert not rows.parameter[1:].any()


def test_no_rows_are_in_use_after_deactivation():
    rows, _ = in_training()
    rows.deactivate()
    assert not rows.parameter.any()
    assert len(rows.view.rows()) == MOST
    rows.write_back(None)
    assert torch.equal(rows.table, start(V, D))


def test_a_table_of_a_checkpoint_takes_the_place_of_one_that_is_shown():
    rows, _ = in_training()
    rows.show_whole(None)
    rows.load(torch.ones(V, D, dtype=torch.float64))
    assert len(rows.parameter) == MOST
    rows.write_back(None)
    assert torch.equal(rows.table, torch.ones(V, D, dtype=torch.float64))


def test_rows_change_only_between_updates():
    rows, optimizer = by_rows(OPTIMIZERS["adam"], (V, D))
    rows.parameter.grad = torch.zeros_like(rows.parameter)
    with pytest.raises(AssertionError, match="within an update"):
        rows.activate(torch.tensor([0, 1]), optimizer)


def test_moments_of_an_optimizer_that_was_reset_are_not_taken_up_again():
    rows, _ = by_rows(OPTIMIZERS["adam"], (V, D))
    new = OPTIMIZERS["adam"](rows.parameter)
    rows.activate(torch.tensor(STEPS[0]), new)
    assert rows.moments == {}


def test_a_model_moved_after_loading_takes_its_table_and_moments_along():
    rows, _ = by_rows(OPTIMIZERS["adam"], (V, D))
    rows.load(rows.table.clone())
    move_to_meta(rows.view)
    optimizer = OPTIMIZERS["adam"](rows.parameter)
    optimizer.state[rows.parameter] = {
        name: torch.zeros_like(rows.parameter) for name in rows.moments
    }
    rows.activate(torch.tensor(STEPS[0]), optimizer)
    assert rows.moments
    for tensor in (rows.table, *rows.moments.values()):
        assert tensor.device.type == "meta"


def test_tables_kept_elsewhere_stay_there_when_the_model_moves():
    rows = ActiveRows(make_table(V, D), MOST, torch.device("cpu"))
    move_to_meta(rows.view)
    rows.activate(torch.tensor(STEPS[0]), None)
    assert rows.table.device.type == "cpu"


def test_a_model_moved_within_a_partition_takes_its_row_ids_along():
    rows, _ = in_training()
    move_to_meta(rows.view)
    rows._follow_parameter()
    assert rows.ids.device == rows.table.device
